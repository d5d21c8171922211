"""polyjudge held against people: public sets with judges and human labels on the same items."""
