"""Array mathematics: cell means, interaction, missing entries, resampling. Arrays and panels in, arrays out."""
