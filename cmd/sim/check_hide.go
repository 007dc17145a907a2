package main

import (
	"errors"

	"github.com/compactsim/compactsim/internal/export"
	"github.com/compactsim/compactsim/traces"
)

// hiding puts pseudonyms into what a check prints and keeps, under a key; without
// one it changes nothing.
type hiding struct{ key []byte }

// hiding returns what the flags ask for, or what is wrong with them.
func (f *checkFlags) hiding() (hiding, error) {
	switch {
	case !f.keys.anonymize && f.keys.file != "":
		return hiding{}, errors.New("a key of pseudonyms belongs to --anonymize")
	case !f.keys.anonymize:
		return hiding{}, nil
	case f.read.verbose:
		return hiding{}, errors.New("--anonymize and --verbose exclude each other: problems name files")
	}
	key, err := f.keys.key()
	return hiding{key}, err
}

func (h hiding) on() bool { return h.key != nil }

// name returns what stands for a project, a file or a digest.
func (h hiding) name(s string) string {
	if !h.on() {
		return s
	}
	return export.Pseudonym(h.key, s)
}

// keyName returns a pseudonym of its own by which keys are told apart; "" without a
// key.
func (h hiding) keyName() string {
	if !h.on() {
		return ""
	}
	return h.name("the key of sim check")
}

// model returns what stands for a model.
func (h hiding) model(s string) string {
	if !h.on() {
		return s
	}
	return export.ModelName(h.key, s)
}

// problem tells a problem of reading. What is wrong with a line may quote it.
func (h hiding) problem(p traces.Problem) string {
	if h.on() {
		p.File, p.Text = h.name(p.File), "could not be read"
	}
	return p.String()
}

// reason tells why there is nothing to check.
func (h hiding) reason(err error) string {
	if h.on() {
		return "nothing to check: no sessions"
	}
	return "nothing to check: " + err.Error()
}
