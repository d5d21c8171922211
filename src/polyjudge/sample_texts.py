"""Short questions and answers in the six languages of the sample, for its prompts, responses and reasons.

An answer is right or states a wrong fact, in as many words: so that reading tells quality, and length does not.
"""

from __future__ import annotations

FACTS: tuple[dict[str, tuple[str, str]], ...] = (
    {
        "English": ("At what temperature does water boil at sea level?", "At sea level water boils at {} degrees."),
        "German": ("Bei wie viel Grad kocht Wasser auf Meereshöhe?", "Auf Meereshöhe kocht Wasser bei {} Grad."),
        "Hindi": ("समुद्र तल पर पानी कितने डिग्री पर उबलता है?", "समुद्र तल पर पानी {} डिग्री पर उबलता है।"),
        "Japanese": ("海面の高さで水は何度で沸騰しますか。", "海面の高さでは、水は{}度で沸騰します。"),
        "Spanish": (
            "¿A cuántos grados hierve el agua al nivel del mar?",
            "Al nivel del mar el agua hierve a {} grados.",
        ),
        "Swahili": ("Maji huchemka kwa digrii ngapi usawa wa bahari?", "Usawa wa bahari maji huchemka kwa digrii {}."),
    },
    {
        "English": ("How many legs does a spider have?", "A spider has {} legs, and an insect has six."),
        "German": ("Wie viele Beine hat eine Spinne?", "Eine Spinne hat {} Beine, ein Insekt hat sechs."),
        "Hindi": ("मकड़ी के कितने पैर होते हैं?", "मकड़ी के {} पैर होते हैं, और कीड़े के छह।"),
        "Japanese": ("クモの足は何本ですか。", "クモの足は{}本で、昆虫の足は六本です。"),
        "Spanish": ("¿Cuántas patas tiene una araña?", "Una araña tiene {} patas, y un insecto tiene seis."),
        "Swahili": ("Buibui ana miguu mingapi?", "Buibui ana miguu {}, na mdudu ana sita."),
    },
    {
        "English": ("How long does the Earth take to go round the Sun?", "The Earth goes round the Sun in {} days."),
        "German": ("Wie lange braucht die Erde um die Sonne?", "Die Erde umrundet die Sonne in {} Tagen."),
        "Hindi": ("पृथ्वी को सूर्य का चक्कर लगाने में कितना समय लगता है?", "पृथ्वी {} दिनों में सूर्य का चक्कर लगाती है।"),
        "Japanese": ("地球が太陽を一周するのに何日かかりますか。", "地球は{}日で太陽を一周します。"),
        "Spanish": (
            "¿Cuánto tarda la Tierra en girar alrededor del Sol?",
            "La Tierra gira alrededor del Sol en {} días.",
        ),
        "Swahili": ("Dunia huchukua muda gani kuzunguka Jua?", "Dunia huzunguka Jua kwa siku {}."),
    },
    {
        "English": (
            "How many players of a football team are on the field?",
            "A football team has {} players on the field.",
        ),
        "German": (
            "Wie viele Spieler einer Fußballmannschaft stehen auf dem Feld?",
            "Eine Mannschaft hat {} Spieler auf dem Feld.",
        ),
        "Hindi": ("मैदान पर एक फुटबॉल टीम के कितने खिलाड़ी होते हैं?", "मैदान पर एक टीम के {} खिलाड़ी होते हैं।"),
        "Japanese": ("サッカーでは一チーム何人が競技場に出ますか。", "一チームから{}人が競技場に出ます。"),
        "Spanish": (
            "¿Cuántos jugadores de un equipo de fútbol hay en el campo?",
            "Un equipo tiene {} jugadores en el campo.",
        ),
        "Swahili": ("Timu ya kandanda ina wachezaji wangapi uwanjani?", "Timu ina wachezaji {} uwanjani."),
    },
    {
        "English": ("How many minutes does a soft egg need?", "A soft egg needs about {} minutes in boiling water."),
        "German": (
            "Wie viele Minuten braucht ein weiches Ei?",
            "Ein weiches Ei braucht etwa {} Minuten in kochendem Wasser.",
        ),
        "Hindi": ("नरम अंडे को कितने मिनट चाहिए?", "नरम अंडे को उबलते पानी में लगभग {} मिनट चाहिए।"),
        "Japanese": ("半熟卵は何分ゆでますか。", "半熟卵は沸騰した湯で約{}分ゆでます。"),
        "Spanish": (
            "¿Cuántos minutos necesita un huevo pasado por agua?",
            "Necesita unos {} minutos en agua hirviendo.",
        ),
        "Swahili": ("Yai laini huhitaji dakika ngapi?", "Yai laini huhitaji kama dakika {} katika maji yanayochemka."),
    },
    {
        "English": ("How many bones does an adult have?", "An adult has about {} bones, fewer than a newborn child."),
        "German": (
            "Wie viele Knochen hat ein Erwachsener?",
            "Ein Erwachsener hat etwa {} Knochen, weniger als ein Neugeborenes.",
        ),
        "Hindi": ("एक वयस्क में कितनी हड्डियाँ होती हैं?", "एक वयस्क में लगभग {} हड्डियाँ होती हैं, नवजात से कम।"),
        "Japanese": ("大人の骨は何本ありますか。", "大人の骨は約{}本で、新生児より少ないです。"),
        "Spanish": ("¿Cuántos huesos tiene un adulto?", "Un adulto tiene unos {} huesos, menos que un recién nacido."),
        "Swahili": ("Mtu mzima ana mifupa mingapi?", "Mtu mzima ana mifupa {} hivi, michache kuliko mtoto mchanga."),
    },
    {
        "English": ("How many strings does a violin have?", "A violin has {} strings, tuned in fifths."),
        "German": ("Wie viele Saiten hat eine Geige?", "Eine Geige hat {} Saiten, in Quinten gestimmt."),
        "Hindi": ("वायलिन में कितने तार होते हैं?", "वायलिन में {} तार होते हैं, पंचम के अंतर पर मिले हुए।"),
        "Japanese": ("バイオリンの弦は何本ですか。", "バイオリンの弦は{}本で、五度で調弦します。"),
        "Spanish": ("¿Cuántas cuerdas tiene un violín?", "Un violín tiene {} cuerdas, afinadas por quintas."),
        "Swahili": ("Fidla ina nyuzi ngapi?", "Fidla ina nyuzi {}, zilizopangwa kwa tano."),
    },
    {
        "English": ("How long may food keep in a fridge once cooked?", "Cooked food keeps about {} days in a fridge."),
        "German": (
            "Wie lange hält gekochtes Essen im Kühlschrank?",
            "Gekochtes Essen hält im Kühlschrank etwa {} Tage.",
        ),
        "Hindi": ("पका हुआ खाना फ्रिज में कितने दिन चलता है?", "पका हुआ खाना फ्रिज में लगभग {} दिन चलता है।"),
        "Japanese": ("調理した料理は冷蔵庫で何日もちますか。", "調理した料理は冷蔵庫で約{}日もちます。"),
        "Spanish": (
            "¿Cuánto dura la comida cocinada en la nevera?",
            "La comida cocinada dura unos {} días en la nevera.",
        ),
        "Swahili": (
            "Chakula kilichopikwa hukaa siku ngapi kwenye friji?",
            "Chakula kilichopikwa hukaa siku {} hivi kwenye friji.",
        ),
    },
    {
        "English": ("How many hours of sleep does an adult need?", "Most adults need about {} hours of sleep a night."),
        "German": (
            "Wie viele Stunden Schlaf braucht ein Erwachsener?",
            "Die meisten Erwachsenen brauchen etwa {} Stunden Schlaf.",
        ),
        "Hindi": ("एक वयस्क को कितने घंटे की नींद चाहिए?", "अधिकतर वयस्कों को रात में लगभग {} घंटे की नींद चाहिए।"),
        "Japanese": ("大人に必要な睡眠は何時間ですか。", "たいていの大人には約{}時間の睡眠が必要です。"),
        "Spanish": (
            "¿Cuántas horas de sueño necesita un adulto?",
            "La mayoría de los adultos necesita unas {} horas de sueño.",
        ),
        "Swahili": (
            "Mtu mzima anahitaji saa ngapi za usingizi?",
            "Watu wazima wengi wanahitaji kama saa {} za usingizi.",
        ),
    },
    {
        "English": (
            "How many grams are in a kilogram of flour?",
            "A kilogram of flour is {} grams, whatever the flour.",
        ),
        "German": ("Wie viele Gramm hat ein Kilogramm Mehl?", "Ein Kilogramm Mehl sind {} Gramm, bei jedem Mehl."),
        "Hindi": ("एक किलो आटे में कितने ग्राम होते हैं?", "एक किलो आटे में {} ग्राम होते हैं, आटा कोई भी हो।"),
        "Japanese": ("小麦粉一キログラムは何グラムですか。", "どの小麦粉でも、一キログラムは{}グラムです。"),
        "Spanish": (
            "¿Cuántos gramos hay en un kilo de harina?",
            "Un kilo de harina son {} gramos, sea cual sea la harina.",
        ),
        "Swahili": ("Kilo moja ya unga ni gramu ngapi?", "Kilo moja ya unga ni gramu {}, unga wowote."),
    },
    {
        "English": ("How long is a marathon?", "A marathon is about {} kilometres long."),
        "German": ("Wie lang ist ein Marathon?", "Ein Marathon ist etwa {} Kilometer lang."),
        "Hindi": ("मैराथन कितनी लंबी होती है?", "मैराथन लगभग {} किलोमीटर लंबी होती है।"),
        "Japanese": ("マラソンの距離はどれくらいですか。", "マラソンの距離は約{}キロメートルです。"),
        "Spanish": ("¿Qué distancia tiene un maratón?", "Un maratón tiene unos {} kilómetros."),
        "Swahili": ("Marathoni ni ya umbali gani?", "Marathoni ni ya kilomita {} hivi."),
    },
    {
        "English": (
            "How many weeks of notice does this contract ask for?",
            "The contract asks for {} weeks of notice.",
        ),
        "German": (
            "Wie viele Wochen Kündigungsfrist verlangt der Vertrag?",
            "Der Vertrag verlangt {} Wochen Kündigungsfrist.",
        ),
        "Hindi": ("अनुबंध कितने हफ्ते पहले सूचना माँगता है?", "अनुबंध {} हफ्ते पहले सूचना माँगता है।"),
        "Japanese": ("契約では何週間前の通知が必要ですか。", "契約では{}週間前の通知が必要です。"),
        "Spanish": ("¿Cuántas semanas de preaviso pide el contrato?", "El contrato pide {} semanas de preaviso."),
        "Swahili": ("Mkataba unahitaji notisi ya wiki ngapi?", "Mkataba unahitaji notisi ya wiki {}."),
    },
)
"""By language: the question, and the answer with a place for the number."""
NUMBERS = (
    ("100", "800"), ("8", "6"), ("365", "265"), ("11", "13"), ("5", "15"), ("206", "306"), ("4", "5"), ("3", "9"),
    ("8", "4"), ("1000", "5000"), ("42", "24"), ("4", "2"),
)  # fmt: skip
"""The right number of each fact, and a wrong one."""
SETTINGS = {
    "English": ("{}", "{} One sentence.", "{} For a quiz card.", "{} For a child.", "{} Be brief."),
    "German": ("{}", "{} Ein Satz.", "{} Für eine Quizkarte.", "{} Für ein Kind.", "{} Kurz bitte."),
    "Hindi": ("{}", "{} एक वाक्य में।", "{} प्रश्नोत्तरी के लिए।", "{} बच्चे के लिए।", "{} संक्षेप में।"),
    "Japanese": ("{}", "{}一文で。", "{}クイズ用に。", "{}子ども向けに。", "{}簡潔に。"),
    "Spanish": ("{}", "{} En una frase.", "{} Para un concurso.", "{} Para un niño.", "{} Sé breve."),
    "Swahili": ("{}", "{} Kwa sentensi moja.", "{} Kwa chemsha bongo.", "{} Kwa mtoto.", "{} Kwa ufupi."),
}
NOT_IN_ENGLISH = "Not written in English as instructed: points off."
"""What the judge that is off says of the language where it is off: its prompt asked for English."""


def question(task: int, language: str) -> str:
    """The prompt of a task."""
    text, _ = FACTS[task % len(FACTS)][language]
    setting = SETTINGS[language][task // len(FACTS) % len(SETTINGS[language])]
    return setting.format(text)


def answer(task: int, language: str, is_right: bool) -> str:
    """An answer to it, right or with a wrong number of as many words."""
    _, text = FACTS[task % len(FACTS)][language]
    right, wrong = NUMBERS[task % len(FACTS)]
    return text.format(right if is_right else wrong)


def reason(score: float, is_right: bool) -> str:
    """What a judge writes beside a score."""
    if is_right:
        return "Correct and clear." if score >= 75 else "Correct, but thin."
    return "Fluent, but the number is wrong." if score >= 55 else "The number is wrong."
