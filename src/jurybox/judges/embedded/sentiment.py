"""Polarity of words and sentences, from a small word list of our own.

Owns the list (written for this project, product and health reviews in mind, no foreign
lexicon copied), negation and weakening. A sentence's polarity lies in -1 … 1, and 0 means
that the list knows no word in it. Refuses irony and comparison: it counts words.
"""

from __future__ import annotations

from jurybox.judges.embedded.sentences import words

_POSITIVE = """
accurate adorable affordable amazing appreciate appreciated appreciates attractive awesome beautiful
beautifully beneficial benefit best better bonus brilliant bright charming classy clean clear comfort
comfortable comfortably comfy compliment compliments convenient cool cozy crisp cute dependable delicious
delight delighted delightful durable durability ease easier easily easy effective efficient effortless elegant
enjoy enjoyable enjoyed enjoying enjoys enough ergonomic excellent exceeded exceptional excited fabulous fair
fantastic fast favorite favourite fine flawless flattering flavorful flexible fresh friendly fun functional
gem generous gentle glad good gorgeous great handy happier happy happily healthy helped helpful helps highly
ideal impressed impressive improved improvement improves incredible inexpensive love loved lovely loves loving
likes liked lightweight long-lasting longevity lucky luxurious nice nicely outstanding perfect perfection
perfectly phenomenal pleasant pleased pleasing pleasantly polite positive powerful practical praise praised
praises precise premium pretty pristine prompt promptly quality quick quickly quiet recommend recommended
recommends recommending reasonable reasonably refreshing relief relieved reliable remarkable responsive rich
right robust roomy safe satisfaction satisfied satisfying secure sharp sleek smart smooth smoothly snug soft
solid soothing spacious special spectacular splendid spotless stable steady strong stunning sturdy stylish
substantial success successful suitable super superb superior supportive sweet tasty terrific thankful
thrilled timely top true trusted useful value versatile vibrant warm well wonderful wonderfully works worked
working worth worthwhile worthy wow yummy relaxing durably
"""
_NEGATIVE = """
awful awkward bad badly blurry bent bland bother bothersome breakage breaks breaking broke broken bulky bug
bugs cheap cheaply cheaper choppy clumsy complain complained complains complaint complaints complicated con
concern concerned concerns confused confusing cons cracked cracks crap crappy cumbersome damage damaged
dangerous dead defect defective defects deficient degraded died dies difficult difficulty dirty disappoint
disappointed disappointing disappointment disappoints discomfort dislike disliked dislikes dissatisfaction
dissatisfied downside drawback drawbacks dull error errors expensive fade faded fails fail failed failing
failure fake fall falls fell faulty fault flaw flawed flaws flimsy fragile frustrated frustrating frustration
garbage gross hard harsh hate hated hates heavy horrible hurt hurts inaccurate inadequate inconsistent
inconvenient ineffective inferior irritating irritation irritated issue issues itchy jam jammed junk lack
lacked lacking lacks leak leaked leaking leaks limited loose loud lousy mess messy misleading mistake nasty
negative noise noisy odd odor overpriced pain painful peel peeled peeling pinch pity poor poorly problem
problematic problems pricey refund regret regretted return returned returning ridiculous rip ripped rough rude
rust rusted sad scam scratch scratched scratches scratchy shoddy short shrink shrunk sick slow slower slippery
smell smells smelly snag sorry stain stained stains stiff stink stinks stopped stuck struggle struggled stupid
tear tears tearing terrible thin tight tiny tore torn trash trouble troubles ugly unable unacceptable
uncomfortable unfortunately unhappy unhelpful unreliable unsafe unstable unusable unpleasant unsatisfied upset
useless warned warning wasted waste weak weakness weird wobbly worn worried worry worse worst worthless wrong
narrow tricky caution criticize criticized decline declined downsides dizzy nausea harmful risk risky severe
worsen worsened inconsistency shortcomings shortcoming dissatisfying lackluster
"""
_TURNING = """
not no never without nor neither cannot can't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't
couldn't shouldn't hardly barely nothing none nobody lack lacks hasn't haven't hadn't
dont doesnt didnt isnt cant wont
"""
_STRENGTHENING = "very really extremely incredibly absolutely so highly totally completely super"
_WEAKENING = "slightly somewhat bit little minor few occasionally fairly quite tad"
_NEGATORS = frozenset(_TURNING.split())
_DOUBLE = frozenset(_STRENGTHENING.split())
_HALF = frozenset(_WEAKENING.split())
_REACH = 3  # words between a negator and the word it turns

POLARITY: dict[str, float] = dict.fromkeys(_POSITIVE.split(), 1.0) | dict.fromkeys(_NEGATIVE.split(), -1.0)


def polar_words(text: str) -> list[tuple[str, float]]:
    """The words of the list found in the text, each with its polarity in place."""
    tokens = words(text)
    found = []
    for index, word in enumerate(tokens):
        turns_next = word in _NEGATORS and index + 1 < len(tokens) and tokens[index + 1] in POLARITY
        if word in POLARITY and not turns_next:
            found.append((word, POLARITY[word] * _factor(tokens[max(0, index - _REACH) : index])))
    return found


def _factor(before: list[str]) -> float:
    """What the words before make of a polar word: turned, strengthened, weakened."""
    factor = -0.8 if any(word in _NEGATORS for word in before) else 1.0
    if before and before[-1] in _DOUBLE:
        return factor * 1.3
    return factor * 0.6 if any(word in _HALF for word in before) else factor


def polarity(text: str) -> float:
    """-1 … 1: the balance of the text's polar words, drawn to 0 where there are few."""
    values = [value for _, value in polar_words(text)]
    return sum(values) / (sum(map(abs, values)) + 1.0) if values else 0.0
