package profile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
)

// FirstRead is what the first call of a session found in the cache. Sessions of
// one user, version, model and way of starting share a head, so that the others'
// first calls tell what the next one reads.
type FirstRead struct {
	User    string `yaml:"user,omitempty"` // UserKey
	Version string `yaml:"version"`
	Model   string `yaml:"model"`
	Entry   string `yaml:"entry,omitempty"` // traces.Session.Entry
	Session string `yaml:"session"`         // Key of its id: a session tells nothing about itself
	At      int64  `yaml:"at"`              // unix seconds
	Read    int64  `yaml:"read" min:"0"`    // tokens
}

// Key returns the short form of a digest that profiles keep: it tells users and
// sessions apart and names none. It is "" for the zero digest.
func Key(d prompt.Digest) string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%08x", uint32(d.Lo))
}

// Name returns a name from a recording, such as a version or a model, as profiles
// keep it: "" for what is none, so that no text of a recording gets into one.
func Name(s string) string {
	const longest = 80
	odd := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_[]:/@+", r))
	}
	if len(s) > longest || strings.ContainsFunc(s, odd) {
		return ""
	}
	return s
}

// MarshalYAML writes a row on one line.
func (f FirstRead) MarshalYAML() (any, error) {
	type plain FirstRead
	return flow(plain(f))
}

const (
	// minFirst is the least that can be cached, tokens: a first call that reads less
	// has found nothing.
	minFirst = 1024
	// firstWeight is how many first calls of a user the share of all others counts
	// for.
	firstWeight = 1
	// certain is the share from which on what is likely is taken for sure.
	certain = 0.85
)

// FirstCall returns how likely the first call of a session finds its head in the
// cache, and how large that is, tokens, by what other sessions found: the share
// among the user's in the epoch, to which that of everybody's counts for one
// call; the size of the user's last one of the same version, model and way of
// starting, else of those that have the most in common. Of f, Read does not
// matter.
func (p *Profile) FirstCall(f *FirstRead) (share float64, tokens int64) {
	epoch := p.Epoch(f.Version)
	var all, own tally
	best, rank := -1, -1
	var sizes []float64
	for i := range p.FirstReads {
		o := &p.FirstReads[i]
		if o.Session == f.Session {
			continue
		}
		same := o.User == f.User && f.User != ""
		warm := o.Read >= minFirst
		if p.Epoch(o.Version) == epoch {
			all.add(warm)
			if same && o.Entry == f.Entry {
				own.add(warm)
			}
		}
		if !warm {
			continue
		}
		r := p.likeness(f, o, same, epoch)
		switch {
		case r > rank:
			best, rank, sizes = i, r, append(sizes[:0], float64(o.Read))
		case r == rank:
			sizes = append(sizes, float64(o.Read))
			if nearer(f, o, &p.FirstReads[best]) {
				best = i
			}
		}
	}
	if best < 0 {
		return 0, 0
	}
	tokens = p.FirstReads[best].Read
	if rank < ofUser {
		slices.Sort(sizes)
		tokens = int64(sizes[len(sizes)/2])
	}
	share = own.share(all.share(0.5, 1), firstWeight)
	return share, tokens
}

// ofUser is the least likeness of two first calls of one user.
const ofUser = 8

// likeness returns how much two first calls have in common: that they are of one
// user counts most, then the version, the model and how the client was started,
// then the epoch.
func (p *Profile) likeness(f, o *FirstRead, same bool, epoch string) int {
	n := 0
	if same {
		n += ofUser
	}
	if o.Version == f.Version {
		n += 3
	} else if p.Epoch(o.Version) == epoch {
		n++
	}
	if o.Model == f.Model {
		n += 2
	}
	if o.Entry == f.Entry {
		n += 2
	}
	return n
}

// nearer reports whether a is a better sign of f than b, which has as much in
// common with it: the last one before f, else the next one after it.
func nearer(f, a, b *FirstRead) bool {
	if before, than := a.At <= f.At, b.At <= f.At; before != than {
		return before
	}
	return distance(a.At, f.At) < distance(b.At, f.At)
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// tally counts how often something happened.
type tally struct{ yes, n float64 }

func (t *tally) add(happened bool) {
	t.n++
	if happened {
		t.yes++
	}
}

// share returns the share, of which prior counts for weight observations; what
// is nearly certain is taken for sure.
func (t *tally) share(prior, weight float64) float64 {
	s := (prior*weight + t.yes) / (weight + t.n)
	switch {
	case s >= certain:
		return 1
	case s <= 1-certain:
		return 0
	}
	return math.Round(s*1e6) / 1e6
}

// Learn adds first reads of further sessions to a profile, each session once.
func (p *Profile) Learn(reads []FirstRead) {
	known := map[string]bool{}
	for i := range p.FirstReads {
		known[p.FirstReads[i].Session] = true
	}
	list := slices.Clone(p.FirstReads)
	for _, f := range reads {
		if !known[f.Session] {
			known[f.Session] = true
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b FirstRead) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Session, b.Session)) })
	p.FirstReads = list
}
