"""What polyjudge claims, held on planted truth and on people's labels: one list of scenarios, one command."""
