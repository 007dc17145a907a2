package texts

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Filler has the length asked for, is text, says what it is when there is room,
// and is another for another digest.
func TestFiller(t *testing.T) {
	if len(words) != 64 {
		t.Fatalf("%d words, want 64", len(words))
	}
	rapid.Check(t, func(t *rapid.T) {
		d := prompt.Digest{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		n := rapid.IntRange(-1, 3000).Draw(t, "n")
		what := rapid.String().Draw(t, "what")
		text := Filler(d, n, what)
		if len(text) != max(0, n) || !utf8.ValidString(text) {
			t.Fatalf("%d bytes: %q, want %d", len(text), text, n)
		}
		if head := "[filler for " + what + "]"; n >= len(head) && !strings.HasPrefix(text, head) {
			t.Fatalf("%q does not begin with %q", text, head)
		}
		if n > 500 && len(what) < 50 && Filler(d.ExtendInt(1), n, what) == text {
			t.Fatal("two digests give one text")
		}
		if v := fillerInput(d, n, what); !v.IsValid() || n > 1000 && len(v) != n && len(what) < 50 {
			t.Fatalf("%d bytes of input: %s", len(v), v)
		}
	})
}

// A block without bytes gets the bytes for which its tokens are estimated:
// 310 tokens at 0.31 a byte are 1,000 bytes of reminder; a tool call's 54 fixed
// tokens take none. An absurd count is cut.
func TestSizeOf(t *testing.T) {
	for _, tt := range []struct {
		block prompt.Block
		want  int
	}{
		{prompt.Block{Kind: prompt.KindReminder, Tokens: 310}, 1000},
		{prompt.Block{Kind: prompt.KindToolUse, Tokens: 84}, 100},
		{prompt.Block{Kind: prompt.KindToolUse, Tokens: 20}, 0},
		{prompt.Block{Kind: prompt.KindText, Tokens: 20, Bytes: 77}, 77},
		{prompt.Block{Kind: prompt.KindUnseen, Tokens: 1 << 30}, MaxFiller},
	} {
		if got := sizeOf(&tt.block); got != tt.want {
			t.Errorf("%s of %d tokens, %d bytes: %d, want %d", tt.block.Kind, tt.block.Tokens, tt.block.Bytes, got, tt.want)
		}
	}
}
