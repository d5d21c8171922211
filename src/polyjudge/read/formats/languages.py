"""Names and codes of languages, to know a column of languages when the reader sees one."""

from __future__ import annotations

import re
from collections.abc import Iterable


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CODES = words(
    """aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en
    eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja
    jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb
    nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq
    sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"""
)
CODES3 = words(
    """ara arb arz afr amh asm aze azj bel ben bod bos bul cat ceb ces cmn cym dan deu ell eng est eus fas pes fil fin
    fra gle glg guj hat hau heb hin hrv hun hye ibo ind isl ita jav jpn kan kat kaz khm kin kor kur kir lao lav lvs
    lit lug mal mar mkd mlg mlt mon mri msa zsm mya nep npi nld nob nor nso nya ory pan pus pbt pol por ron rus sin
    slk slv sna snd som sot spa sqi als srp sun swe swa swh tam tel tgk tgl tha tir tsn tur twi uig ukr urd uzn uzb
    vie wol xho yid yor yue zho zul"""
)
NAMES = words(
    """afrikaans albanian amharic arabic armenian assamese azerbaijani basque belarusian bengali bosnian bulgarian
    burmese cantonese catalan cebuano chinese mandarin croatian czech danish dutch english esperanto estonian farsi
    filipino finnish french galician georgian german greek gujarati hausa hebrew hindi hungarian icelandic igbo
    indonesian irish italian japanese javanese kannada kazakh khmer kinyarwanda korean kurdish kyrgyz lao latin
    latvian lithuanian macedonian malagasy malay malayalam maltese maori marathi mongolian nepali norwegian odia
    oriya pashto persian polish portuguese punjabi romanian russian serbian shona sindhi sinhala slovak slovenian
    somali spanish sundanese swahili swedish tagalog tajik tamil tatar telugu thai tibetan tigrinya turkish turkmen
    twi ukrainian urdu uyghur uzbek vietnamese welsh wolof xhosa yiddish yoruba zulu"""
)
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)


def is_language(text: str) -> bool:
    """Whether a text is the code, locale or English name of a language.

    >>> [is_language(t) for t in ("en", "pt-BR", "zho_Hans", "German", "Chinese (Simplified)", "gpt-4")]
    [True, True, True, True, True, False]
    """
    plain = re.sub(r"\s*\(.*\)$", "", text.strip()).lower()
    if plain in NAMES:
        return True
    code = _LOCALE.fullmatch(plain)
    return bool(code) and (code[1] in CODES or code[1] in CODES3)  # type: ignore[index]


def all_languages(labels: Iterable[str]) -> bool:
    """Whether there are labels and each is a language."""
    labels = list(labels)
    return bool(labels) and all(is_language(label) for label in labels)
