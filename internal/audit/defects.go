package audit

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// DefectUnpriced is the kind of Defect whose calls are not in the bill.
const DefectUnpriced = "unpriced"

// defects counts what limits the report.
type defects struct {
	single, empty, untimed, back []string // sessions
	untimedCalls, backCalls      int
	unpriced                     map[string]int             // calls by model
	projects                     map[string]map[string]bool // paths by last part
}

func (d *defects) session(s *traces.Session, threads [][]call) {
	n, untimed, back := 0, 0, 0
	for _, calls := range threads {
		for i := range calls {
			c := &calls[i]
			if c.out {
				continue
			}
			n++
			if c.untimed {
				untimed++
			}
			if c.back {
				back++
			}
			if !c.model.known {
				if d.unpriced == nil {
					d.unpriced = map[string]int{}
				}
				d.unpriced[c.model.name]++
			}
		}
	}
	note(&d.empty, s.ID, n == 0)
	note(&d.single, s.ID, n == 1)
	note(&d.untimed, s.ID, untimed > 0)
	note(&d.back, s.ID, back > 0)
	d.untimedCalls += untimed
	d.backCalls += back
	d.project(s.Project)
}

func note(list *[]string, name string, is bool) {
	if is {
		*list = append(*list, name)
	}
}

func (d *defects) project(p string) {
	if p == "" {
		return
	}
	if d.projects == nil {
		d.projects = map[string]map[string]bool{}
	}
	base := path.Base(strings.ReplaceAll(p, `\`, "/"))
	if d.projects[base] == nil {
		d.projects[base] = map[string]bool{}
	}
	d.projects[base][p] = true
}

func (d *defects) report(r *Report) {
	add := func(kind, text string, count int, names []string) {
		if count > 0 {
			r.Defects = append(r.Defects, Defect{Kind: kind, Text: text, Count: count, Names: names})
		}
	}
	calls := 0
	for _, n := range d.unpriced {
		calls += n
	}
	add(DefectUnpriced, "calls of models without a price, which cost nothing here; --price-as bills them as another",
		calls, slices.Sorted(maps.Keys(d.unpriced)))
	add("untimed", "calls without a time, which stand under "+NoDay+" and whose pauses are not known", d.untimedCalls,
		d.untimed)
	add("clock_back", "calls older than the response before them, where the clock ran back and no pause is known",
		d.backCalls, d.back)
	add("single", "sessions of one call, with nothing to compare it with", len(d.single), d.single)
	add("empty", "sessions without a call of their own, which cost nothing here", len(d.empty), d.empty)
	for _, base := range slices.Sorted(maps.Keys(d.projects)) {
		if paths := d.projects[base]; len(paths) > 1 {
			add("same_name", fmt.Sprintf("projects called %s in different places, which are kept apart", base),
				len(paths), slices.Sorted(maps.Keys(paths)))
		}
	}
}

// adviseOthers is the advice for agents other than Claude Code, by agent and
// finding. For an agent without an entry, offers names the settings it has.
var adviseOthers = map[string]map[string][]Advice{traces.AgentCodex: adviseCodex}

// adviseCodex is the advice on the share of Codex in a finding, by the finding's
// name: Codex reads none of the settings of Claude Code (facts E11; config.toml
// as the vendor documents it). Its results are cut at some 10,000 tokens by
// default; the advice is a third of that, as for Claude Code.
var adviseCodex = map[string][]Advice{
	"large_context":         {adviseThresholds},
	string(CauseCompaction): {adviseThresholds},
	"compactions_lost": {{Setting: "/new",
		Text: "when the task is nearly done, instead of a compaction that few calls follow"}},
	"large_results":         {adviseCodexOutput},
	"large_command_results": {adviseCodexOutput},
	"large_mcp_results":     {adviseCodexOutput},
	"large_agent_results":   {adviseCodexOutput},
	"large_reads":           {adviseCodexOutput},
	"duplicate_reads": {{Text: "no setting: have AGENTS.md ask for the part of a file that is needed, and not " +
		"to read again what is in the conversation"}},
	string(CauseEdit): {{Text: "nothing keeps the cache when the context shrinks, and no line of the recording " +
		"says why it did; what is missed is smaller in a smaller context"}, adviseThresholds},
	string(CauseNoLifetime): {{Text: "nothing makes the cache last, the provider decides what it keeps; what is " +
		"missed is smaller in a smaller context"}, adviseThresholds},
	string(CauseModel): {{Setting: "/new",
		Text: "before another model: models share nothing, the whole context is sent anew"}},
}

var adviseCodexOutput = Advice{Setting: "tool_output_token_limit = 3000",
	Text: "config.toml: the most tokens of a tool's output that stay in the context"}

// share sets each agent's share of a finding, the largest first.
func (t *tally) share(f *Finding) {
	for _, agent := range slices.Sorted(maps.Keys(t.agents)) {
		f.Agents = append(f.Agents, Share{agent, t.agents[agent]})
	}
	slices.SortStableFunc(f.Agents, func(a, b Share) int { return cmp.Compare(b.USD, a.USD) })
}

// perAgent gives each agent of a finding its own advice. The finding itself has
// the advice for Claude Code.
func (f *Finding) perAgent() {
	claude, several := f.Advice, len(f.Agents) > 1
	f.Advice = []Advice{}
	for _, share := range f.Agents {
		list := claude
		if !agents.Of(share.Agent).ClaudeCode {
			if list = adviseOthers[share.Agent][f.Name]; len(list) == 0 {
				list = []Advice{offers(agents.Of(share.Agent))}
			}
		}
		for _, a := range list {
			if a.Setting == adviseThresholds.Setting { // for any agent, once
				if !slices.ContainsFunc(f.Advice, func(b Advice) bool { return b.Setting == a.Setting }) {
					f.Advice = slices.Insert(f.Advice, 0, a)
				}
				continue
			}
			if several {
				a.Agent, a.USD = share.Agent, share.USD
			}
			f.Advice = append(f.Advice, a)
		}
	}
}

// offers says which settings an agent's client has for other findings.
func offers(agent *traces.Agent) Advice {
	var names []string
	for i := range agent.Settings {
		names = append(names, agent.Settings[i].Name)
	}
	if len(names) == 0 {
		return Advice{Text: "its client has no setting for this, nor another that a simulation follows"}
	}
	return Advice{Text: "its client has no setting for this; sim advise tries " + strings.Join(names, ", ")}
}
