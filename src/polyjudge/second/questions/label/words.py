"""Words about making and reading labels."""

from polyjudge.second.panel.say import Template, plural

WORDS: dict[str, Template] = {
    "label.made": lambda v: (
        f"{{items}} {plural(v['items'], 'item', 'items')} to label, on {{pages}} {plural(v['pages'], 'page', 'pages')} "
        "in {folder}."
    ),
    "label.each": lambda v: (
        "Every annotator gets {few} "
        + ("" if v["few"] == v["most"] else "to {most} ")
        + "items. A page works without a network, keeps its answers in the browser, and shows no scores and no systems."
    ),
    "label.keep": "Keep manifest.json to yourself: it alone knows which item is which.",
    "label.send": "Send each annotator the page of their name (or the sheet), and put what comes back into {folder}.",
    "label.then": "Then see what came back",
    "label.anchor": "Hold the panel against them",
    "label.no-texts": "Pages show names instead of texts. Give the texts: --items ITEMS.",
    "label.english": "The page has no words for {languages}: its buttons are in English there.",
    "label.other-scores": "The folder was made from other scores than these. Draw into a new one if they have changed "
    "much.",
    "label.all-drawn": "{languages} have no more items than that: all of them are drawn.",
    "label.back": lambda v: (
        "{labelled} of {asked} answers are back"
        + (f", {{skipped}} {plural(v['skipped'], 'was', 'were')} skipped" if v["skipped"] else "")
        + (f", {{missing}} {plural(v['missing'], 'is', 'are')} missing." if v["missing"] else ": all of them.")
    ),
    "label.absent": "Nothing has come back yet from {annotators}.",
    "label.replaced": "{count} answers were replaced by a later one to the same item.",
    "label.odd": "{text:text}",
}
