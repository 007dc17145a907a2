package promptcache

import (
	"maps"
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
)

// parties are those who take turns at a cache, see Anthropic.Serve. The zero value
// is that of a cache without any.
type parties struct {
	now   uint32 // who is served, 0 for nobody in particular
	floor int64  // nothing comes from before it
	left  []bool // by party: it sends nothing any more
	// roots are who has begun conversations, by the prefix that ends with the first
	// message of them.
	roots map[prompt.Digest]uint32
	met   bool
}

func (p *parties) reset() {
	clear(p.roots)
	*p = parties{left: p.left[:0], roots: p.roots}
}

func (p *parties) clone() parties {
	c := *p
	c.left, c.roots = slices.Clone(p.left), maps.Clone(p.roots)
	return c
}

// from returns the time from before which nothing comes, as far as parties say.
func (p *parties) from() int64 {
	if p.now == 0 {
		return never
	}
	return p.floor
}

func (p *parties) leave(party uint32) {
	for int(party) >= len(p.left) {
		p.left = append(p.left, false)
	}
	p.left[party] = true
}

// gone reports whether e holds messages of a party that sends nothing any more.
func (p *parties) gone(e *entry) bool {
	return e.level == prompt.LevelMessages && int(e.party) < len(p.left) && p.left[e.party]
}

// meet notes when who is served comes upon messages that another has written.
func (p *parties) meet(e *entry) {
	p.met = p.met || e.party != p.now && e.level == prompt.LevelMessages
}

// root notes who sends a conversation of which nothing has been read yet. Those that
// begin with the same message may come to read each other.
func (p *parties) root(r *prompt.Request) {
	if p.now == 0 {
		return
	}
	i := slices.IndexFunc(r.Entries, func(e prompt.Entry) bool { return e.Kind.Level() == prompt.LevelMessages })
	if i < 0 {
		return
	}
	if p.roots == nil {
		p.roots = map[prompt.Digest]uint32{}
	}
	chain := r.Entries[i].Chain
	if first, ok := p.roots[chain]; ok && first != p.now {
		p.met = true
	}
	p.roots[chain] = p.now
}
