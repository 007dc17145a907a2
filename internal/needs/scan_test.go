package needs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// byBytes finds the terms of a text byte by byte, without a look at what can be left out.
func (s *scanner) byBytes(text string) {
	s.terms = s.terms[:0]
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && classes[text[i]] != classOther {
			i++
		}
		if i-from >= minName && len(s.terms) < blockTerms {
			s.run(text, from, i)
		}
	}
}

// What is found 64 bytes at a time is what is found byte by byte: over random texts of words of all lengths, which
// begin and end anywhere.
func TestTermsAreFoundWhereverTheyStand(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const alphabet = "aaaaaaaaaaaaabcdefghAB19_/.:-@\xc3\xa4 \n(,"
	var quick, plain scanner
	found := 0
	for range 20_000 {
		text := make([]byte, r.IntN(400))
		dense := r.IntN(len(alphabet)-20) + 20
		for i := range text {
			if text[i] = alphabet[r.IntN(dense)]; r.IntN(12) == 0 {
				text[i] = ' '
			}
		}
		quick.scan(string(text), false)
		plain.byBytes(string(text))
		if !slices.Equal(quick.terms, plain.terms) {
			t.Fatalf("%q: %d terms, byte by byte %d", text, len(quick.terms), len(plain.terms))
		}
		found += len(quick.terms)
	}
	if found < 100_000 {
		t.Errorf("only %d terms", found)
	}
}
