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
// the same user, version, model and way of starting share a head, so that the
// first calls of others predict the next one's read.
type FirstRead struct {
	User    string `yaml:"user,omitempty"` // Key of traces.Session.User
	Version string `yaml:"version"`
	Model   string `yaml:"model"`
	Entry   string `yaml:"entry,omitempty"` // traces.Session.Entry
	Session string `yaml:"session"`         // Key of its id: a session tells nothing about itself
	At      int64  `yaml:"at"`              // unix seconds
	Read    int64  `yaml:"read" min:"0"`    // tokens
}

// Key returns the short form of a digest for profiles: it distinguishes users
// and sessions but names none. It is "" for the zero digest.
func Key(d prompt.Digest) string {
	if d.IsZero() {
		return ""
	}
	return fmt.Sprintf("%08x", uint32(d.Lo))
}

// Name returns a name from a recording, such as a version or a model, for a
// profile; "" for anything else, so that no text of a recording gets into one.
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

const (
	// minFirst is the least that can be cached, tokens: a first call that reads
	// less found nothing.
	minFirst = 1024
	// firstWeight is how many first calls of a user the share of all others counts
	// for.
	firstWeight = 1
	// certain is the share above which a likely event counts as certain.
	certain = 0.85
)

// firstKey identifies first calls with the same head.
type firstKey struct{ user, version, model, entry string }

func (f *FirstRead) key() firstKey { return firstKey{f.User, f.Version, f.Model, f.Entry} }

// group has the first calls of one key that found something, by time.
type group struct {
	firstKey
	epoch string
	warm  []FirstRead
}

// ownKey identifies first calls of a user in an epoch.
type ownKey struct{ epoch, user, entry string }

// firsts has the first calls of a profile: by key the calls that found something, how many did by
// epoch and user, and whether each session's first call did.
type firsts struct {
	groups []*group
	all    map[string]*tally // by epoch
	own    map[ownKey]*tally
	warm   map[string]bool
}

func (p *Profile) indexFirsts() *firsts {
	reads := p.FirstReads
	x := &firsts{all: map[string]*tally{}, own: map[ownKey]*tally{}, warm: map[string]bool{}}
	groups := map[firstKey]*group{}
	for i := range reads {
		f := &reads[i]
		epoch, warm := p.Epoch(f.Version), f.Read >= minFirst
		own := ownKey{epoch, f.User, f.Entry}
		if x.all[epoch] == nil {
			x.all[epoch] = &tally{}
		}
		if x.own[own] == nil {
			x.own[own] = &tally{}
		}
		x.all[epoch].add(warm)
		x.own[own].add(warm)
		x.warm[f.Session] = warm
		if !warm {
			continue
		}
		g := groups[f.key()]
		if g == nil {
			g = &group{firstKey: f.key(), epoch: epoch}
			groups[f.key()] = g
			x.groups = append(x.groups, g)
		}
		g.warm = append(g.warm, *f)
	}
	for _, g := range x.groups {
		slices.SortFunc(g.warm, func(a, b FirstRead) int {
			return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Read, b.Read), cmp.Compare(a.Session, b.Session))
		})
	}
	return x
}

// FirstCall returns how likely the first call of a session finds its head in
// the cache, and the size of that head, tokens, from other sessions: the share
// of the user's in the epoch, in which the share of everybody counts for one
// call; and the size of the user's last one with the same version, model and
// way of starting, else of those most alike. The field Read of f is ignored.
func (p *Profile) FirstCall(f *FirstRead) (share float64, tokens int64) {
	x := p.firsts
	if x == nil {
		x = p.indexFirsts()
	}
	epoch := p.Epoch(f.Version)
	var all, own tally
	if t := x.all[epoch]; t != nil {
		all = *t
	}
	if t := x.own[ownKey{epoch, f.User, f.Entry}]; t != nil && f.User != "" {
		own = *t
	}
	rank := -1
	var like []*FirstRead // of the most similar groups, the one nearest in time
	for _, g := range x.groups {
		same := g.user == f.User && f.User != ""
		r := likeness(f, g, same, g.epoch == epoch)
		if r < rank {
			continue
		}
		o := g.nearest(f)
		switch {
		case o == nil:
		case r > rank:
			rank, like = r, append(like[:0], o)
		default:
			like = append(like, o)
		}
	}
	if rank < 0 {
		return 0, 0
	}
	if warm, known := x.warm[f.Session]; known { // a session tells nothing about itself
		all.drop(warm)
		if f.User != "" {
			own.drop(warm)
		}
	}
	share = own.share(all.share(0.5, 1), firstWeight)
	if rank < ofUser { // of other users: the median
		reads := make([]int64, len(like))
		for i, o := range like {
			reads[i] = o.Read
		}
		slices.Sort(reads)
		return share, reads[len(reads)/2]
	}
	best := like[0]
	for _, o := range like {
		if nearer(f, o, best) {
			best = o
		}
	}
	return share, best.Read
}

// nearest returns the first call of another session that found something and is
// nearest to f in time: the last one before it, else the next one; nil for none.
func (g *group) nearest(f *FirstRead) *FirstRead {
	at, _ := slices.BinarySearchFunc(g.warm, f.At+1, func(o FirstRead, t int64) int { return cmp.Compare(o.At, t) })
	for i := at - 1; i >= 0; i-- {
		if g.warm[i].Session != f.Session {
			return &g.warm[i]
		}
	}
	for i := at; i < len(g.warm); i++ {
		if g.warm[i].Session != f.Session {
			return &g.warm[i]
		}
	}
	return nil
}

// ofUser is the least likeness of two first calls of the same user.
const ofUser = 8

// likeness returns how much a first call has in common with the calls of a group: the same user
// counts most, then the version, the model and how the client was started, then
// the same epoch (near).
func likeness(f *FirstRead, g *group, same, near bool) int {
	n := 0
	if same {
		n += ofUser
	}
	if g.version == f.Version {
		n += 3
	} else if near {
		n++
	}
	if g.model == f.Model {
		n += 2
	}
	if g.entry == f.Entry {
		n += 2
	}
	return n
}

// nearer reports whether a predicts f better than the equally similar b: the
// last one before f, else the next one after it; at the same time the larger.
func nearer(f, a, b *FirstRead) bool {
	if before, than := a.At <= f.At, b.At <= f.At; before != than {
		return before
	}
	if x, y := distance(a.At, f.At), distance(b.At, f.At); x != y {
		return x < y
	}
	return a.Read > b.Read
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// tally counts how often something happened.
type tally struct{ yes, n float64 }

func (t *tally) drop(happened bool) {
	t.n--
	if happened {
		t.yes--
	}
}

func (t *tally) add(happened bool) {
	t.n++
	if happened {
		t.yes++
	}
}

// share returns the share, with prior counting for weight observations; a
// nearly certain share is rounded to certain.
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

// Learn adds first reads of more sessions to a profile, each session once. Reads of Codex go to
// its Codex part.
func (p *Profile) Learn(reads, codex []FirstRead) {
	p.FirstReads, p.Codex.First = joined(p.FirstReads, reads), joined(p.Codex.First, codex)
	p.index()
}

// index builds the lookup tables of what sessions show.
func (p *Profile) index() {
	p.firsts, p.pooled = p.indexFirsts(), p.Losses.pool()
}

// joined returns a new list with the reads of other sessions in more added, by time.
func joined(list, more []FirstRead) []FirstRead {
	list = slices.Clone(list)
	known := map[string]bool{}
	for i := range list {
		known[list[i].Session] = true
	}
	for _, f := range more {
		if !known[f.Session] {
			known[f.Session] = true
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b FirstRead) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Session, b.Session)) })
	return list
}
