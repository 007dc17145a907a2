package fleet

import (
	"slices"

	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/client"
	"github.com/compactsim/compactsim/sim/prompt"
)

// The purposes of draws in this package, apart from those of internal/draws.
const (
	drawArrival draws.Purpose = 64 + iota
	drawKind
	drawMCP
	drawProfile
	drawResume
	drawOverage
	drawUpgrade
	drawSession
)

// place is the stable id of the nth thing of a user.
func place(user, n int) uint64 { return uint64(user)<<32 ^ uint64(uint32(n))<<8 }

// source draws for the people of an organisation: by its name, so that others
// may come and go.
func (f *File) source(o *Org) draws.Source {
	return draws.Source{Seed: f.Seed, Session: prompt.DigestString(o.Name).Lo}
}

// person is one user.
type person struct {
	org      int32
	kind     uint8 // index into Kinds
	mcp      bool
	upgrades [maxUpgrades]int64 // when the user has each, ns from the start
	overages []overage          // in order
}

// overage is a time for which a user is beyond the quota, ns from the start.
type overage struct{ from, to int64 }

// person draws a user of an organisation.
func (f *File) person(org, user int, src draws.Source) person {
	o := &f.Orgs[org]
	unit := func(p draws.Purpose, n int) float64 { return draws.Unit(src.Uint64(p, place(user, n))) }
	p := person{org: int32(org), kind: o.kindAt(unit(drawKind, 0)), mcp: unit(drawMCP, 0) < o.MCP}
	for i := range f.Upgrades {
		u := &f.Upgrades[i]
		p.upgrades[i] = int64(u.At) + int64(unit(drawUpgrade, i)*float64(u.Over))
	}
	return p
}

// kindAt returns the kind of the user at a share of all.
func (o *Org) kindAt(share float64) uint8 {
	last := uint8(0)
	for i, kind := range Kinds() {
		v := o.Kinds[kind]
		if v == 0 {
			continue
		}
		if share < v {
			return uint8(i)
		}
		share -= v
		last = uint8(i)
	}
	return last
}

// subscribes reports whether the user has a plan whose quota can end.
func (p *person) subscribes() bool { return Kinds()[p.kind] == KindSubscriber }

// provider returns who serves the user's requests.
func (p *person) provider() string {
	switch Kinds()[p.kind] {
	case KindBedrock:
		return client.ProviderBedrock
	case KindThirdParty:
		return client.ProviderThirdParty
	}
	return client.ProviderFirstParty
}

// exceed draws when the user passes the quota: on a day with sessions, that long
// behind the first of them. Begins are the times at which the user's sessions
// begin or are resumed, in order.
func (f *File) exceed(p *person, user int, src draws.Source, begins []int64) {
	o := &f.Orgs[p.org]
	if o.Overage.Share == 0 || !p.subscribes() {
		return
	}
	last := int64(-1)
	for _, at := range begins {
		today := (at + int64(o.Arrivals.Offset) + day) / day // from 0, whatever the offset
		if today == last {
			continue
		}
		last = today
		if draws.Unit(src.Uint64(drawOverage, place(user, int(today)))) < o.Overage.Share {
			from := at + int64(o.Overage.After)
			p.overages = append(p.overages, overage{from, from + int64(o.Overage.Lasts)})
		}
	}
}

// over reports whether the user is beyond the quota at a time.
func (p *person) over(at int64) bool {
	return slices.ContainsFunc(p.overages, func(v overage) bool { return v.from <= at && at < v.to })
}

// turns returns the times behind one and through another at which the user
// passes the quota or gets it back, in order.
func (p *person) turns(after, through int64) []int64 {
	var list []int64
	for _, v := range p.overages {
		for _, at := range [...]int64{v.from, v.to} {
			if at > after && at <= through && p.over(at) != p.over(at-1) {
				list = append(list, at)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
