package needs

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The words of a sentence are those that strings.Fields finds, whatever the white space and the bytes between them.
func TestWordsAreFields(t *testing.T) {
	t.Parallel()
	parts := []string{"a", "must", ".", " ", "\t", "\n", "\v", "\f", "\r", "\x1f", "é", "\u0085", "\u00a0", "\u2003", "\x80", "\xff"}
	draw := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		var text strings.Builder
		for range draw.IntN(12) {
			text.WriteString(parts[draw.IntN(len(parts))])
		}
		var words []string
		for w, rest := word(text.String()); w != ""; w, rest = word(rest) {
			words = append(words, w)
		}
		if want := strings.Fields(text.String()); !slices.Equal(words, want) {
			t.Fatalf("%q: words %q, want %q", text.String(), words, want)
		}
	}
}
