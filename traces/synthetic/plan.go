// Package synthetic makes coding-agent sessions to measure. A [Workload]
// describes a corpus: turns, tool mix, sizes and times as distributions. A
// [Generator] draws its sessions in the parsed form, millions of calls a
// second, and [Workload.Transcripts] writes a session as Claude Code's JSONL,
// which reads back as the same session.
//
// Every draw is keyed by seed, purpose and place, so a change to one field of a
// workload leaves all other draws as they were.
//
// [FitWorkload] takes a workload from recorded sessions, and [Observe] measures
// the dimensions by which two corpora are compared.
package synthetic

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/internal/kit/nearest"
	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
)

// plan is a session in the making. Its storage serves one session after another.
type plan struct {
	g      *Generator
	d      dice
	base   uint64  // of d's places
	tracks []track // main, then agents and branches as they come
	blocks uint64  // made so far: each has a digest of its own
	starts int     // agents
	// agentFirst and agentEnd are the times (unix ns) at which an agent first
	// made the agents' static prefix readable and last refreshed it; 0 is never.
	agentFirst, agentEnd int64
	objects              []int32 // of files and the project: 1 + the place in the session that is laid out, 0 for none
}

// of makes p a plan of a session of a generator, of which nothing is planned.
func (p *plan) of(g *Generator, d dice) {
	clear(p.objects)
	*p = plan{g: g, d: d, base: mix(uint64(d)), tracks: p.tracks[:0], objects: p.objects}
}

// track is a thread in the making. Spans count in its own blocks.
type track struct {
	kind        traces.ThreadKind
	agent       string
	parent      int32 // -1 for none
	parentRound int32
	delay       int64
	static      int // tokens of the static prefix as a reader sees it
	reminders   int
	uses        int32 // tool uses
	blocks      []prompt.Block
	rounds      []traces.Round
	events      []traces.Event
}

// Bounds of a session, where it is cut off: sums stay far from overflow.
const (
	maxContextTokens = 50_000_000
	maxSessionTime   = 50 * 365 * 24 * 3600 * 1_000_000_000 // ns
	maxSessionBlocks = numberMask - 1024                    // a call and its agents have fewer
)

// full reports whether a session ends at a time and with a context.
func (p *plan) full(at int64, context int) bool {
	return context > maxContextTokens || p.blocks > maxSessionBlocks || at > p.g.latest
}

// open adds a track and returns its index.
func (p *plan) open(kind traces.ThreadKind, parent, parentRound int32) int {
	n := len(p.tracks)
	p.tracks = slices.Grow(p.tracks, 1)[:n+1]
	t := &p.tracks[n]
	*t = track{
		kind: kind, parent: parent, parentRound: parentRound,
		blocks: t.blocks[:0], rounds: t.rounds[:0], events: t.events[:0],
	}
	return n
}

// numberMask covers the part of a digest that numbers the blocks of a session.
const numberMask = 1<<20 - 1

// at returns p.d's draws for a place.
func (p *plan) at(id uint64) spot { return spot(mix(p.base ^ id)) }

// add appends a block of content that is like no other in the session, and
// returns it for as long as the track does not grow.
func (p *plan) add(t *track, k prompt.Kind, bytes, tokens int32) *prompt.Block {
	p.blocks++
	t.blocks = append(t.blocks, prompt.Block{
		Digest: prompt.Digest{Hi: mix(uint64(p.d) + p.blocks), Lo: uint64(p.d)&^numberMask | p.blocks&numberMask},
		Kind:   k, Bytes: bytes, Tokens: tokens, Object: -1,
	})
	return &t.blocks[len(t.blocks)-1]
}

// main plans the main thread, turn by turn.
func (p *plan) main() {
	g, k := p.g, p.at(forMain)
	w := &pen{p: p, t: p.open(traces.ThreadMain, -1, -1), tools: &g.tools, limit: g.limit}
	w.open(g.w.Static, k.draw(&g.w.Reminders, forReminders), k.hit(forWarm, g.w.WarmStart))
	w.model = g.named[g.models.at(k.unit(forModel))]
	w.before = g.w.Start.UnixNano() + seconds(k.unit(forStart)*g.w.Spread)
	w.at = w.before
	turns := k.count(&g.w.Turns, forSession)
	settled := false // this turn starts as the one before it left off
	for i := range turns {
		k := p.at(forTurns | uint64(i))
		mark, before := w.mark(), len(p.tracks)
		changed := false
		if i > 0 {
			w.at = max(w.before, w.gone) + p.pause(k)
			changed = !settled && w.change(k)
		}
		w.ask(k)
		w.turn(k.count(&g.w.Rounds, forRounds))
		settled = false
		back := i > 0 && i+1 < turns && k.hit(forRewind, g.w.Rewinds)
		if back && !changed && len(p.tracks) == before && !w.compacted {
			w.rewind(&mark)
			settled = true
		}
		if p.full(w.at, w.context) {
			return
		}
	}
}

// pause returns the ns between a response and a prompt.
func (p *plan) pause(k spot) int64 {
	g := p.g
	length := &g.w.Think
	if i := g.pauses.at(k.unit(forPauseKind)); i < len(g.w.Pauses) {
		length = &g.w.Pauses[i].Length
	}
	return max(millisecond, seconds(k.draw(length, forPause)))
}

// agent plans the sub-agent that a task of the given length starts, and returns
// the length of its report and the time it is complete.
func (p *plan) agent(parent int, task int32, at int64, model uint16) (report int32, end int64) {
	g := p.g
	p.starts++
	t := p.open(traces.ThreadAgent, int32(parent), int32(len(p.tracks[parent].rounds)-1))
	w := &pen{p: p, t: t, tools: &g.agents, model: model, before: at, at: at}
	bits := p.d.bits(forSession, 6)
	p.tracks[t].agent = fmt.Sprintf("a%x%x%x%05x", bits&15, bits>>4&15, bits>>8&15, p.starts)
	p.tracks[t].delay = taskDelay
	if g.w.Agents.Model != "" {
		w.model = g.agentModel
	}
	k := p.at(forAgents | uint64(p.starts))
	warm := p.agentFirst != 0 && at > p.agentFirst && at-p.agentEnd <= g.lifetime || k.hit(forWarm, g.w.WarmStart)
	w.open(g.w.Agents.Static, k.draw(&g.w.Agents.Reminders, forReminders), warm)
	w.push(prompt.KindPrompt, task, int32(g.rates.Tokens(prompt.KindPrompt, int(task)))).Flags = prompt.FlagString
	w.turn(k.count(&g.w.Agents.Rounds, forAgentRounds))
	tr := &p.tracks[t]
	if p.agentFirst == 0 || at-p.agentEnd > g.lifetime {
		p.agentFirst = tr.rounds[0].At + tr.rounds[0].First
	}
	p.agentEnd = max(p.agentEnd, w.before)
	return tr.blocks[len(tr.blocks)-1].Bytes + agentBillLength, w.before
}

// taskDelay is the time from a response to the start of the agents it asks for.
const taskDelay = 100 * millisecond

// agentIDLength is the length of an agent's id.
const agentIDLength = 9

// agentBillLength is the length of agentBill.
var agentBillLength = int32(len(agentBill("")) + agentIDLength)

// agentBill is the line the client adds to an agent's report.
func agentBill(agent string) string {
	return "agentId: " + agent + " (for resuming to continue this agent's work if needed)"
}

// The files under samples are data: nothing makes them anew. The profile of the
// same name describes each sample, and generates sessions like it.
//
//go:embed all:samples
var samples embed.FS

// Samples returns five embedded sessions for a first run without recordings,
// gzip-compressed as Claude Code's JSONL: one folder for each, named after the
// profile that describes it and laid out as a project's folder of Claude Code
// ("short-fix/<session>.jsonl.gz",
// "fan-out/<session>/subagents/agent-<id>.jsonl.gz").
func Samples() fs.FS {
	sub, err := fs.Sub(samples, "samples")
	if err != nil {
		return samples
	}
	return sub
}

//go:embed profiles/*.yaml
var profiles embed.FS

// WorkloadNames lists the workloads that come with the program.
func WorkloadNames() []string {
	entries, err := profiles.ReadDir("profiles")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// workloads has the workloads among WorkloadNames that were asked for: a scenario with users
// is checked against its workload several times.
var workloads sync.Map // of *Workload by name

// LoadWorkload returns the workload of a name in WorkloadNames, or of a file:
// a name that holds a slash or ends in .yaml or .yml is a file. The lists and maps
// in it are not to be changed.
func LoadWorkload(name string) (*Workload, error) {
	if w, ok := workloads.Load(name); ok {
		own := *w.(*Workload)
		return &own, nil
	}
	text, err := WorkloadText(name)
	if err != nil {
		return nil, err
	}
	if isFile(name) {
		return parseWorkload(text, name)
	}
	w, err := parseWorkload(text, name+".yaml")
	if err == nil {
		own := *w
		workloads.Store(name, &own)
	}
	return w, err
}

// WorkloadText returns the YAML that LoadWorkload reads.
func WorkloadText(name string) ([]byte, error) {
	if isFile(name) {
		text, err := files.Read(name)
		if err != nil {
			return nil, fmt.Errorf("read profile: %w", err)
		}
		return text, nil
	}
	if names := WorkloadNames(); !slices.Contains(names, name) {
		return nil, fmt.Errorf("no profile %q%s; there are %s, and files that end in .yaml",
			name, nearest.Hint(name, names), strings.Join(names, ", "))
	}
	return profiles.ReadFile("profiles/" + name + ".yaml")
}

func isFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// fittedKey is a key of every profile and of no workload.
const fittedKey = "switches"

// parseWorkload reads a workload strictly. The error names every problem with
// file and line: unknown keys, values of the wrong kind, and values that no
// session can be drawn from.
func parseWorkload(text []byte, file string) (*Workload, error) {
	tree, err := spec.Parse(text, file)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	var w Workload
	errs := tree.Decode(tree.Root, &w, "")
	if n := spec.Child(tree.Root, fittedKey); n != nil {
		errs = []error{tree.Errorf(n, "this profile of sim calibrate is for the simulation; "+
			"sim traces fit writes one that sessions are generated from")}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading a profile: %w", errors.Join(errs...))
	}
	w.Name = strings.TrimSuffix(file[strings.LastIndexAny(file, `/\`)+1:], ".yaml")
	return &w, nil
}

// Write writes the workload as YAML.
func (w *Workload) Write(to io.Writer) error {
	text, err := yaml.Marshal(w)
	if err != nil {
		return fmt.Errorf("encode profile %s: %w", w.Name, err)
	}
	if _, err := to.Write(text); err != nil {
		return fmt.Errorf("write profile %s: %w", w.Name, err)
	}
	return nil
}
