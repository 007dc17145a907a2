package needs

import "github.com/compactsim/compactsim/sim/prompt"

// Words returns what a summary says that a run was given and no recording has, "" where its words are not known.
type Words func(summary *prompt.Block) string

// written are the terms and lines of a summary.
type written map[uint64]bool

// read returns what a summary has, nil where its words are not known. Each summary is scanned once.
func (j *Judge) read(b *prompt.Block) written {
	if j.words == nil {
		return nil
	}
	if w, ok := j.known[b.Digest]; ok {
		return w
	}
	var w written
	if text := j.words(b); text != "" {
		w = written{}
		var s scanner
		s.scan(text, false)
		for _, list := range [...][]found{s.terms, s.lines} {
			for i := range list {
				w[list[i].key|1] = true
			}
		}
	}
	if j.known == nil {
		j.known = map[prompt.Digest]written{}
	}
	j.known[b.Digest] = w
	return w
}

// says reports whether a summary in the context that was read has what a need is found by.
func (j *Judge) says(n *Need) bool {
	for _, w := range j.here {
		if w[n.Term] {
			return true
		}
	}
	return false
}
