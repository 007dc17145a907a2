package needs

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// byBytes finds the terms of a text byte by byte, without a look at what can be left out.
func (s *scanner) byBytes(text string) {
	s.all, s.room = s.all[:0], blockTerms
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && classes[text[i]] != classOther {
			i++
		}
		if i-from >= minName && s.room > 0 {
			if from, i := ends(text, from, i); i-from >= minName && i-from <= maxTerm {
				s.parts(text, from, i)
			}
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
		quick.search(string(text), false)
		plain.byBytes(string(text))
		if !slices.Equal(quick.terms(), plain.all) {
			t.Fatalf("%q: %d terms, byte by byte %d", text, len(quick.terms()), len(plain.all))
		}
		found += len(quick.terms())
	}
	if found < 100_000 {
		t.Errorf("only %d terms", found)
	}
}

// Of what a text repeats the first place is kept, so that the index is the same, and an argument has all places: there the
// last one counts.
func TestWhatRepeatsItself(t *testing.T) {
	var s scanner
	const text = "call frobnicateAll, then frobnicateAll again"
	s.scan(text)
	if len(s.terms()) != 1 || s.terms()[0].from != 5 {
		t.Errorf("of what was said: %+v, want the first frobnicateAll alone", s.terms())
	}
	s.once = false
	if s.search(text, false); len(s.terms()) != 2 {
		t.Errorf("of an argument: %+v, want frobnicateAll twice", s.terms())
	}
}
