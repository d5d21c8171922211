"""The methods of METHODS section 7 that CBC is compared with, each one function of one signature, in a registry."""
