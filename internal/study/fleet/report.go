package fleet

import (
	"fmt"

	"github.com/compactsim/compactsim/internal/serving/changes"
	"github.com/compactsim/compactsim/internal/serving/client"
	"github.com/compactsim/compactsim/internal/study/studies"
	"github.com/compactsim/compactsim/sim/results"
)

// report makes the result of a population from its runs.
func (p *Population) report(cells []cell) *studies.Fleet {
	f := p.file
	out := &studies.Fleet{
		Name: f.Name, Doc: f.Doc, Start: f.Start.UTC(), Days: f.Days, Seed: f.Seed,
		PricesAt: f.pricesText(), GlobalScope: f.Client.GlobalScope,
		Orgs: p.Orgs(), Upgrades: p.upgrades(), Notes: p.notes(),
	}
	for i := 0; i < len(cells); {
		base := &cells[i]
		c := p.cell(base)
		for i++; i < len(cells) && cells[i].without != ""; i++ {
			pair := p.pair(&c, &cells[i])
			switch cells[i].without {
			case studies.WithoutOverage:
				for k := range out.Orgs {
					pair.Events += out.Orgs[k].Flips
				}
				p.flips(&pair, base.rows, cells[i].rows)
			case studies.WithoutUpgrades:
				for k := range out.Upgrades {
					pair.Events += out.Upgrades[k].Users
				}
				e := &pair.Total
				e.Events, e.EventTokens, e.EventUSD = pair.Events, -e.SavedTokens(), -e.SavedUSD()
			}
			c.Pairs = append(c.Pairs, pair)
		}
		c.Waves = f.waves(c.Hours)
		out.Cells = append(out.Cells, c)
	}
	return out
}

// Orgs returns what was drawn for the organisations, in the order of the file:
// what a run will simulate.
func (p *Population) Orgs() []studies.FleetOrg {
	f := p.file
	list := make([]studies.FleetOrg, len(f.Orgs))
	for i := range list {
		list[i] = studies.FleetOrg{Name: f.Orgs[i].Name, Users: f.Orgs[i].Users, Kinds: map[string]int{}}
	}
	for i := range p.people {
		who := &p.people[i]
		o := &list[who.org]
		o.Kinds[Kinds()[who.kind]]++
		if who.mcp {
			o.MCP++
		}
	}
	for i, s := range p.Sessions {
		of := &p.of[i]
		who := &p.people[of.user]
		o := &list[who.org]
		o.Sessions++
		o.Resumed += len(of.runs) - 1
		o.Calls += s.NumCalls()
		o.Flips += len(p.turns(i))
	}
	return list
}

// upgrades returns the upgrades with the users whom each reached.
func (p *Population) upgrades() []studies.FleetUpgrade {
	var list []studies.FleetUpgrade
	for k := range p.file.Upgrades {
		u := &p.file.Upgrades[k]
		reached := map[int32]bool{}
		for i := range p.of {
			of := &p.of[i]
			if _, ok := of.runFrom(p.people[of.user].upgrades[k]); ok {
				reached[of.user] = true
			}
		}
		list = append(list, studies.FleetUpgrade{
			At: float64(u.At) / 1e9, Over: float64(u.Over) / 1e9, Static: int(u.Static), Users: len(reached),
		})
	}
	return list
}

// cell returns the figures of a run.
func (p *Population) cell(c *cell) studies.FleetCell {
	f := p.file
	out := studies.FleetCell{
		Strategy: c.strategy.Name, Total: studies.FleetGroup{Name: whole},
		Orgs: make([]studies.FleetGroup, len(f.Orgs)), Kinds: make([]studies.FleetGroup, len(Kinds())),
	}
	for i := range f.Orgs {
		out.Orgs[i].Name = f.Orgs[i].Name
		out.Orgs[i].Scopes = c.meter.orgs[i][:]
	}
	for i, kind := range Kinds() {
		out.Kinds[i].Name = kind
	}
	p.sum(&out, c.rows)
	out.Total.Scopes = sumScopes(c.meter.orgs)
	for i := range p.of {
		for _, at := range p.of[i].runs {
			c.meter.hour(at).Sessions++
		}
	}
	out.Hours = c.meter.hours
	sessions := c.meter.sessions()
	out.PeakCalls, out.PeakSessions = c.meter.calls.peak(), sessions.peak()
	kinds := out.Kinds[:0]
	for _, g := range out.Kinds {
		if g.Users > 0 {
			kinds = append(kinds, g)
		}
	}
	out.Kinds = kinds
	out.Total.Describe()
	for _, list := range [...][]studies.FleetGroup{out.Orgs, out.Kinds} {
		for i := range list {
			list[i].Describe()
		}
	}
	return out
}

// sum adds the rows of sessions to the groups they belong to.
func (p *Population) sum(out *studies.FleetCell, rows []results.Row) {
	lastUser := int32(-1)
	for i := range rows {
		user := p.of[i].user
		who := &p.people[user]
		for _, g := range [...]*studies.FleetGroup{&out.Total, &out.Orgs[who.org], &out.Kinds[who.kind]} {
			if g.Row.Strategy == "" {
				g.Row.Strategy = rows[i].Strategy
			}
			g.Row.Add(&rows[i])
			if user != lastUser {
				g.Users++
			}
		}
		lastUser = user
	}
}

func sumScopes(orgs []scopes) []studies.FleetTokens {
	var sum scopes
	for i := range sum {
		sum[i].Scope = studies.FleetScope(i)
		for k := range orgs {
			orgs[k][i].Scope = sum[i].Scope
			sum[i].Add(orgs[k][i])
		}
	}
	return sum[:]
}

// turns returns the times at which the user of a session exceeds the quota or
// gets it back.
func (p *Population) turns(session int) []int64 {
	of := &p.of[session]
	return p.people[of.user].turns(of.runs[0], last(p.Sessions[session])-p.file.Start.UnixNano())
}

// flips adds to a comparison the effect of flips alone on cost: that of sessions which
// begin within the quota, because the rest of overage is the shorter lifetime of sessions
// that begin beyond it. Clients that keep the first answer do nothing at a flip.
func (p *Population) flips(pair *studies.FleetPair, with, without []results.Row) {
	if p.file.Client.Latch {
		return
	}
	for i, s := range p.Sessions {
		who := &p.people[p.of[i].user]
		n := p.heard(i)
		if n == 0 || who.over(s.Start-p.file.Start.UnixNano()) {
			continue
		}
		effect := studies.NewFleetEffect("", &with[i], &without[i])
		for _, e := range [...]*studies.FleetEffect{&pair.Orgs[who.org], &pair.Total} {
			e.Events += n
			e.EventTokens -= effect.SavedTokens()
			e.EventUSD -= effect.SavedUSD()
		}
	}
}

// pair compares a run with the one without something.
func (p *Population) pair(with *studies.FleetCell, off *cell) studies.FleetPair {
	without := p.cell(off)
	pair := studies.FleetPair{
		Without: string(off.without), Hours: without.Hours,
		Total: studies.NewFleetEffect(with.Total.Name, &with.Total.Row, &without.Total.Row),
	}
	for i := range with.Orgs {
		pair.Orgs = append(pair.Orgs, studies.NewFleetEffect(with.Orgs[i].Name, &with.Orgs[i].Row, &without.Orgs[i].Row))
	}
	return pair
}

// waves returns the effect of the upgrades on what is created before messages.
func (f *File) waves(hours []studies.FleetHour) []studies.FleetWave {
	var list []studies.FleetWave
	for k := range f.Upgrades {
		u := &f.Upgrades[k]
		at, over := int(int64(u.At)/hour), max(1, int((int64(u.Over)+hour-1)/hour))
		w := studies.FleetWave{
			Upgrade: k, Before: mean(hours, at-over, at), During: mean(hours, at, at+over),
			After: mean(hours, at+over, at+2*over), PeakHour: at,
		}
		for i := at; i < min(at+2*over, len(hours)); i++ {
			if n := head(&hours[i]); n > w.PeakTokens {
				w.PeakHour, w.PeakTokens = i, n
			}
		}
		list = append(list, w)
	}
	return list
}

// head returns the tokens created before messages in an hour.
func head(h *studies.FleetHour) int64 {
	return h.Created[studies.FleetGlobal] + h.Created[studies.FleetOrgs]
}

// mean returns the tokens created before messages over hours [from, to) of the
// series, per hour; 0 for none.
func mean(hours []studies.FleetHour, from, to int) float64 {
	from, to = max(from, 0), min(to, len(hours))
	if to <= from {
		return 0
	}
	var sum int64
	for i := from; i < to; i++ {
		sum += head(&hours[i])
	}
	return float64(sum) / float64(to-from)
}

// notes are what a reader of the figures must know.
func (p *Population) notes() []string {
	f := p.file
	list := []string{
		"sessions are drawn from profiles; the cache is the plain model: what other conversations keep warm " +
			"is that of the fleet, and calls that no log shows are made by layers alone",
	}
	if n := p.unheard(); n > 0 {
		list = append(list, fmt.Sprintf("%d flips are counted that do nothing: "+
			"a session hears of %d changes of overage and prompt at most", n, changes.Max))
	}
	headers := 0
	for i := range p.people {
		if k := Kinds()[p.people[i].kind]; k == KindBedrock || k == KindThirdParty {
			headers++
		}
	}
	a := client.DefaultAssembly()
	a.System, a.Provider = f.Client.System, client.ProviderThirdParty
	if headers > 0 && a.HeaderInKey() {
		list = append(list, fmt.Sprintf("%d users of Bedrock and third parties read nothing behind "+
			"the billing header, which changes with every request and is in the key there (client.system.billing_header_in_key, assumed)", headers))
	}
	return list
}
