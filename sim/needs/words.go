package needs

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// Words returns the text of a summary that a run was given and no recording has, "" if it is unknown.
type Words func(summary *prompt.Block) string

// written are the terms, lines and directives of a summary.
type written map[uint64]bool

// read returns the content of a summary, nil if its words are unknown. For a recorded summary these
// are its directives, because its terms are found as blocks. Each summary is scanned once.
func (j *Judge) read(b *prompt.Block) written {
	if w, ok := j.known[b.Digest]; ok {
		return w
	}
	var w written
	if said := j.x.recorded(b.Digest); said.Len() > 0 {
		w = written{}
		for k := said.From; k < said.To; k++ {
			for _, d := range j.x.directivesOf(k) {
				w[d.term] = true
			}
		}
	} else if j.words != nil {
		w = scanned(j.words(b))
	}
	if j.known == nil {
		j.known = map[prompt.Digest]written{}
	}
	j.known[b.Digest] = w
	return w
}

// scanned returns the terms, lines and directives of a text, nil for none.
func scanned(text string) written {
	if text == "" {
		return nil
	}
	w := written{}
	var s scanner
	s.scan(text)
	for i := range s.all {
		w[s.all[i].key|1] = true
	}
	for _, term := range directives(text) {
		w[term] = true
	}
	return w
}

// says reports whether a summary in the context has a term.
func (j *Judge) says(term uint64) bool {
	for _, w := range j.here {
		if w[term] {
			return true
		}
	}
	return false
}

// retell counts the directives that summaries repeat from prompts that the context no longer has unchanged.
func (j *Judge) retell() {
	if len(j.here) == 0 {
		return
	}
	for _, block := range j.heard {
		if j.Has(block) {
			continue
		}
		for _, d := range j.x.directivesOf(block) {
			if j.says(d.term) {
				j.said[recall.Part]++
			}
		}
	}
}
