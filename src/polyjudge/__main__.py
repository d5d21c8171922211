"""`python -m polyjudge` is the `polyjudge` command."""


def main() -> None:
    """The command line. An interrupt is heard while it loads, too."""
    try:
        from polyjudge.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()


if __name__ == "__main__":
    main()
