"""Decoding inverts encoding, and no text is unknown."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from core.text.text_normalization import normalized
from core.text.tokenizer import (
    BOS_ID,
    EOS_ID,
    MAX_LEARNED_BYTES,
    PAD_ID,
    SPACE_MARK,
    UNK_ID,
    SentencePieceTokenizer,
    _parts,
)

TEXTS = [
    "A dog runs.",
    "Die Straße führt über die Brücke.",
    "",
    " ",
    "   ",
    " leading",
    "trailing ",
    "  many   spaces  ",
    "tab\tnew line\ncarriage return\r\n\n",
    "\0 null, \x07 bell, \x1b[31m escape, \x7f delete, \x85 next line",
    "no-break\u00a0space, em\u2003space, ideographic\u3000space, line\u2028separator, zero\u200bwidth, \ufeff mark",
    "👍🏽 👩‍👩‍👧‍👦 🇩🇪 emoji",
    "שלום עולם, السلام عليكم \u202eoverride",
    "你好，世界。 こんにちは 안녕하세요",
    "e\u0301 is not é, n\u0303 is not ñ, ﬁ is not fi, ℌ, ①, ａｂｃ",
    "नमस्ते, สวัสดี, \U00012000 cuneiform, \U0010ffff last, \ufffd replacement, \uffff non-character, \ue000 private",
    "<s> </s> <pad> <unk> <0x41> <0x0A> ⁇ ▂",
    "1234567890 3.14159 $%&'\"`\\",
    "Donaudampfschifffahrtsgesellschaftskapitän" * 20,
]


@pytest.mark.parametrize("text", TEXTS)
def test_round_trip(tokenizer: SentencePieceTokenizer, text: str) -> None:
    token_ids = tokenizer.encode(text)
    assert tokenizer.decode(token_ids) == text
    assert not {PAD_ID, BOS_ID, EOS_ID, UNK_ID} & set(token_ids)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters=SPACE_MARK)))
@example("a\n b")
def test_any_text_comes_back(tokenizer: SentencePieceTokenizer, text: str) -> None:
    token_ids = tokenizer.encode(text)
    assert tokenizer.decode(token_ids) == text
    assert not {PAD_ID, BOS_ID, EOS_ID, UNK_ID} & set(token_ids)


def test_every_character_is_known(tokenizer: SentencePieceTokenizer) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and chr(code) != SPACE_MARK][
        ::43
    ]
    encoded = tokenizer.encode_batch(characters, num_threads=1)
    assert all(UNK_ID not in token_ids for token_ids in encoded)
    assert [tokenizer.decode(token_ids) for token_ids in encoded] == characters


def test_the_space_mark_itself_comes_back_as_a_space(tokenizer: SentencePieceTokenizer) -> None:
    assert tokenizer.decode(tokenizer.encode(f"a{SPACE_MARK}b")) == "a b"


@pytest.mark.parametrize("text", ["half a pair \ud83d", "\udc4d"])
def test_half_a_surrogate_pair_is_no_text(tokenizer: SentencePieceTokenizer, text: str) -> None:
    with pytest.raises(ValueError, match="surrogates not allowed"):
        tokenizer.encode(text)
    with pytest.raises(ValueError, match="surrogates not allowed"):
        tokenizer.encode_batch(["fine", text])


def test_batch_is_the_same_as_one_by_one(tokenizer: SentencePieceTokenizer) -> None:
    assert tokenizer.encode_batch(TEXTS, num_threads=2) == [tokenizer.encode(text) for text in TEXTS]


def test_bpe_dropout_gives_other_pieces_of_the_same_text(
    tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]]
) -> None:
    texts = [sentence for pair in parallel_text for sentence in pair]
    plain = tokenizer.encode_batch(texts)
    assert tokenizer.sample_batch(texts, 0.0, seed=1) == plain
    sampled = tokenizer.sample_batch(texts, 0.1, seed=1)
    assert [tokenizer.decode(token_ids) for token_ids in sampled] == texts
    assert sampled != plain
    assert tokenizer.sample_batch(texts, 0.1, seed=1) == sampled
    assert tokenizer.sample_batch(texts, 0.1, seed=2) != sampled
    lengths = [sum(map(len, tokenizer.sample_batch(texts, share, seed=1))) for share in (0.0, 0.1, 0.5, 0.99)]
    assert lengths == sorted(lengths)
    assert sum(len(text) for text in texts) < lengths[-1] * 1.2  # almost all characters stand alone
    with pytest.raises(ValueError, match="surrogates not allowed"):
        tokenizer.sample_batch(["\ud800"], 0.1, seed=1)


def with_scores(tokenizer: SentencePieceTokenizer, score: float) -> bytes:
    model = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.to_bytes())
    for piece in model.pieces:
        piece.score = score
    return model.SerializeToString()


def test_bpe_dropout_needs_merges() -> None:
    with pytest.raises(ValueError, match="a SentencePiece model of type bpe: these pieces are not made by merges"):
        SentencePieceTokenizer.of_characters("abc ").sample_batch(["a b"], 0.1, seed=1)
    with pytest.raises(ValueError, match="a SentencePiece model of type bpe: these pieces are not made by merges"):
        SentencePieceTokenizer(with_scores(SentencePieceTokenizer.of_characters("abc "), 0)).sample_batch(["a"], 0.1, 1)


def test_special_tokens(tokenizer: SentencePieceTokenizer) -> None:
    assert (tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id) == (PAD_ID, BOS_ID, EOS_ID)
    assert [tokenizer.piece(token_id) for token_id in (PAD_ID, BOS_ID, EOS_ID, UNK_ID)] == [
        "<pad>",
        "<s>",
        "</s>",
        "<unk>",
    ]
    assert tokenizer.decode([BOS_ID, *tokenizer.encode("A dog"), EOS_ID, PAD_ID]) == "A dog"


def test_pieces(tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]]) -> None:
    pieces = [tokenizer.piece(token_id) for token_id in range(tokenizer.vocab_size)]
    assert len(pieces) == len(set(pieces)) == 400
    assert {f"<0x{byte:02X}>" for byte in range(256)} <= set(pieces)
    for english, german in parallel_text:
        for text in (english, german):
            joined = "".join(tokenizer.piece(token_id) for token_id in tokenizer.encode(text))
            assert joined.replace(SPACE_MARK, " ") == " " + text


def test_digits_stand_alone(tokenizer: SentencePieceTokenizer) -> None:
    assert [tokenizer.piece(token_id) for token_id in tokenizer.encode("year 1505")][-4:] == ["1", "5", "0", "5"]


def test_bytes_make_the_same_tokenizer(tokenizer: SentencePieceTokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.to_bytes())
    again = SentencePieceTokenizer.from_file(path)
    assert again.vocab_size == tokenizer.vocab_size
    assert [again.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]


def test_training_is_repeatable(tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]]) -> None:
    again = SentencePieceTokenizer.train(
        [sentence for pair in parallel_text for sentence in pair], vocab_size=400, num_threads=1
    )
    assert again.to_bytes() == tokenizer.to_bytes()


@pytest.mark.parametrize("data", [b"", b"x", b"\0" * 100, b"PK\x03\x04 not a model"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=rf"^not a SentencePiece model \({len(data)} bytes\)"):
        SentencePieceTokenizer(data)


def test_a_truncated_model_is_refused(tokenizer: SentencePieceTokenizer) -> None:
    data = tokenizer.to_bytes()
    for length in (len(data) - 1, len(data) // 2, 100):
        with pytest.raises(ValueError, match="not a SentencePiece model"):
            SentencePieceTokenizer(data[:length])


def test_lines_of_any_length_are_learned(tokenizer: SentencePieceTokenizer, parallel_text: list[tuple[str, str]]):
    line = " ".join(sentence for pair in parallel_text for sentence in pair)
    times = MAX_LEARNED_BYTES // len(line) + 2
    whole = SentencePieceTokenizer.train([" ".join([line] * times)], 400, num_threads=1)
    parts = SentencePieceTokenizer.train([line] * times, 400, num_threads=1)
    assert whole.pieces(range(400)) == parts.pieces(range(400))
    unspaced = SentencePieceTokenizer.train(["\u4eca\u65e5" * MAX_LEARNED_BYTES], 270, num_threads=1)
    assert unspaced.token_id("\u4eca\u65e5" * 8)


@given(st.text("ab\u00fc\u4eca\U0001f642 ", max_size=40).map(normalized), st.integers(4, 9))
def test_parts_of_a_line_have_all_of_it(line: str, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.text.tokenizer.MAX_LEARNED_BYTES", most)
        parts = list(_parts(line))
    assert all(len(part.encode()) <= most for part in parts)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")
    if all(len(word.encode()) <= most for word in line.split()):
        assert " ".join(parts) == line


@pytest.mark.parametrize(
    ("text", "size", "advice"),
    [
        (["a few words only"], 5000, r"give at most \d+"),
        ([], 400, "give more text"),
        (["the bytes alone are 256 pieces"], 100, r"give at least 2\d\d"),
    ],
)
def test_too_little_text_to_learn_from(text: list[str], size: int, advice: str) -> None:
    with pytest.raises(ValueError, match=rf"^no vocabulary of {size} pieces can be learned from this text: {advice}$"):
        SentencePieceTokenizer.train(text, vocab_size=size)


@pytest.mark.parametrize("token_id", [-1, 400])
def test_ids_outside_of_the_vocabulary(tokenizer: SentencePieceTokenizer, token_id: int) -> None:
    with pytest.raises(IndexError, match="out of range"):
        tokenizer.piece(token_id)
    with pytest.raises(IndexError, match="out of range"):
        tokenizer.decode([token_id])


def test_a_piece_is_found_by_its_name(tokenizer: SentencePieceTokenizer) -> None:
    assert [tokenizer.token_id(tokenizer.piece(token_id)) for token_id in range(tokenizer.vocab_size)] == list(
        range(tokenizer.vocab_size)
    )
    with pytest.raises(ValueError, match="'no such piece' is not one of the 400 pieces of this tokenizer"):
        tokenizer.token_id("no such piece")


def test_a_model_of_too_many_bytes_is_not_parsed(tokenizer: SentencePieceTokenizer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("core.text.tokenizer.MAX_SENTENCEPIECE_BYTES", 1000)
    with pytest.raises(ValueError, match=r"^a SentencePiece model of \d+ bytes, at most 1000 are read$"):
        SentencePieceTokenizer(tokenizer.to_bytes())
