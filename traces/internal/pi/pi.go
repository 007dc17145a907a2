// Package pi reads the sessions of pi and of Oh-My-Pi, whose format is pi's
// with additions: JSON lines, the session first. Since version 3 entries form a
// tree by parent; whatever does not lead to the last entry is a branch that was
// left. Earlier versions are one list.
//
// Two things are assumed. Tools and system prompt count as all of the first call
// that no other line shows. Writes to the cache live for five minutes where the
// log does not split them.
package pi

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/go-json-experiment/json/jsontext"
)

// Agent is the name of the recorded agent in Session.Agent.
const Agent = facts.Pi

// Describe returns what the rest of the program needs to know about pi. It marks
// the last message for models of Anthropic, compacts 16,384 tokens ahead of the
// window's end, and asks for a summary in a request of its own, as its source
// has it.
func Describe() *facts.Agent {
	return assembly.Client(&facts.Agent{
		Name: Agent, Title: "pi", Read: reader.Read, Texts: reader.Texts, Markers: 1,
		Member: func(typ, name string) bool {
			return typ == "session" && (name == "cwd" || name == "modelId" || name == "thinkingLevel")
		},
		Places: func(h *facts.Home) {
			h.Add(facts.Place{Agent: Agent}, h.From("PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions")
			h.Add(facts.Place{Agent: Agent}, h.Under(".omp", "agent", "sessions"))
		},
		Settings:      settings(),
		SummaryShares: func(_, variant string) bool { return variant == facts.VariantOhMyPi },
		Keeps:         facts.KeepsNewest,
		SummaryClip:   2000, // compaction/utils.ts:89 @83378aa
	}, 100, 16_384)
}

var reader = assembly.Linewise[*file]{Name: Agent, Line: (*file).parse, New: func(p *assembly.Part) *file {
	return &file{Part: p, index: assembly.IDs{}}
}}

// file is one file.
type file struct {
	*assembly.Part
	index assembly.IDs // of entries of the tree, by id
	said  []said       // by entry of the tree
	model string       // of the last call
	hour  bool         // the version says how much is written for an hour, and counts the calls of all compactions (2026-11) but an extension's
}

// said is what an entry of the tree says, for the compactions that keep some entries.
type said uint8

// What an entry says.
const (
	saidNothing said = iota
	saidByPerson
	saidOther
)

// line is one line.
type line struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Parent    string         `json:"parentId"`
	Timestamp string         `json:"timestamp"`
	Cwd       string         `json:"cwd"`
	Message   message        `json:"message"`
	Content   jsontext.Value `json:"content"` // of a custom message
	Summary   string         `json:"summary"`
	Tokens    int64          `json:"tokensBefore"`
	Kept      string         `json:"firstKeptEntryId"`
	Usage     *counts        `json:"usage"` // of a summary, or of a call beside the conversation
	Beside    string         `json:"kind"`  // what such a call is for
	Model     string         `json:"model"`
	Target    string         `json:"targetId"`
	Instead   jsontext.Value `json:"replacement"` // of the content of the target; null for nothing
	Hook      bool           `json:"fromHook"`    // an extension wrote the summary
}

// counts are the token counts of a call, or of all calls of a compaction.
type counts struct {
	Input     assembly.Count `json:"input"`
	Output    assembly.Count `json:"output"`
	Read      assembly.Count `json:"cacheRead"`
	Write     assembly.Count `json:"cacheWrite"`
	Write1h   *int64         `json:"cacheWrite1h"` // part of Write
	Sum       assembly.Count `json:"totalTokens"`
	Reasoning *int64         `json:"reasoningTokens"`
	Cost      struct {
		Total float64 `json:"total"`
	} `json:"cost"`
}

// message is what a person, the model or a tool said.
type message struct {
	Role       string         `json:"role"`
	Content    jsontext.Value `json:"content"`
	Model      string         `json:"model"`
	Gateway    string         `json:"provider"`
	Timestamp  int64          `json:"timestamp"` // unix ms; for a message of the model, of the request
	ResponseID string         `json:"responseId"`
	StopReason string         `json:"stopReason"`
	First      float64        `json:"ttft"` // ms
	ToolCall   string         `json:"toolCallId"`
	Failed     bool           `json:"isError"`
	Command    string         `json:"command"` // of a bashExecution
	Output     string         `json:"output"`
	Usage      *counts        `json:"usage"`
}

// content is a content block.
type content struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"thinkingSignature"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Data      string         `json:"data"`
}

var errNoRole = errors.New("it has no role")

// parse reads one line.
func (f *file) parse(ln assembly.Line) error {
	var l line
	if err := assembly.Decode(ln.Text, &l); err != nil {
		return err
	}
	if l.Type == "" {
		return assembly.ErrNoType
	}
	if l.ofOhMyPi() {
		f.Variant = facts.VariantOhMyPi
	}
	at := f.At(f.Stamp(ln.Number, []byte(l.Timestamp)))
	if l.Type == "session" {
		if f.Part.ID == "" {
			f.Part.ID, f.Project = l.ID, l.Cwd
		}
		return nil
	}
	steps, err := l.steps(f.Maker, at)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Type, err)
	}
	if steps == nil && !known(l.Type) {
		f.Unknown[l.Type]++
		if l.Message.Usage != nil {
			return fmt.Errorf("line of type %.40q has the token counts of a call", l.Type)
		}
	}
	for i := range steps {
		steps[i].Line = int32(ln.Number)
	}
	for _, u := range [...]*counts{l.Message.Usage, l.Usage} {
		if u != nil {
			f.hour = f.hour || u.Write1h != nil
			f.USD += f.Cost(ln.Number, u.Cost.Total)
		}
	}
	f.model = cmp.Or(l.Message.Model, f.model)
	switch l.Type {
	case "compaction":
		f.addSummaryCalls(&l, &steps[0])
	case "branch_summary", "usage":
		if l.Usage != nil {
			// It keeps the cache warm, or sums up a branch which was left.
			f.AddBeside(cmp.Or(l.Beside, l.Type)+"@"+l.ID, l.ID, at, ln.Number, cmp.Or(l.Model, f.model), l.Usage.usage())
		}
	case "context_edit":
		f.edit(&l)
	}
	if l.ID == "" && steps == nil {
		return nil
	}
	if _, twice := f.index.Get(l.ID); twice && l.ID != "" {
		return fmt.Errorf("entry %.40q is here a second time", l.ID)
	}
	parent := f.Len() - 1
	switch i, ok := f.index.Get(l.Parent); {
	case ok:
		parent = i
	case l.Parent != "":
		err = f.Refuse(ln.Number, fmt.Errorf("parent %.40q is not in the file; the line before is taken for it", l.Parent))
	case l.ID != "" && (l.Message.Role == "assistant" || l.Message.Role == "toolResult"):
		err = f.Refuse(ln.Number, errors.New("an answer or a result without a parent; the line before is taken for it"))
	case l.ID != "":
		parent = -1
	}
	if err != nil {
		return err
	}
	i := f.Add(parent, steps)
	f.said = append(f.said[:i], l.says())
	if l.ID != "" {
		f.index.Set(l.ID, i)
	}
	return nil
}

// ofOhMyPi reports whether a line is one that Oh-My-Pi alone writes: the title and the system prompt that precede a conversation, and
// a change of the model that names provider and model in one (18.2.3 and recordings of 2026-08).
func (l *line) ofOhMyPi() bool {
	return l.Type == "title" || l.Type == "session_init" || l.Type == "model_change" && l.Model != ""
}

// known reports whether lines of a type are known not to reach the model.
func known(typ string) bool {
	switch typ {
	case "message", "model_change", "thinking_level_change", "custom", "label", "title", "session_init", "session_info",
		"ttsr_injection", "mode_change", "custom_message", "branch_summary", "compaction", "context_edit", "usage":
		return true
	}
	return false
}

// steps returns the steps of a line.
func (l *line) steps(mk assembly.Maker, at int64) ([]assembly.Step, error) {
	switch l.Type {
	case "message":
		return l.message(mk, at)
	case "compaction":
		return []assembly.Step{{
			Kind: assembly.StepCompact, At: at, Tokens: assembly.Within(l.Tokens),
			Blocks: []assembly.Block{mk.Text(prompt.KindSummary, l.Summary)},
		}}, nil
	case "branch_summary":
		b := mk.Added(l.Summary)
		return []assembly.Step{{Kind: assembly.StepInput, At: at, Blocks: []assembly.Block{b}}}, nil
	case "custom_message":
		blocks, err := blocksOf(mk, l.Content, prompt.KindAttachment)
		for i := range blocks {
			blocks[i] = meta(blocks[i])
		}
		return []assembly.Step{{Kind: assembly.StepInput, At: at, Blocks: blocks}}, err
	}
	return nil, nil
}

func meta(b assembly.Block) assembly.Block {
	b.Flags |= prompt.FlagMeta
	return b
}

// message returns the steps of a message.
func (l *line) message(mk assembly.Maker, at int64) ([]assembly.Step, error) {
	m := &l.Message
	switch m.Role {
	case "":
		return nil, errNoRole
	case "assistant":
		return l.answer(mk, at)
	case "toolResult":
		texts, image, err := textsOf(m.Content, mk.Unknown)
		b := mk.Result(assembly.CallID(m.ToolCall), texts, m.Failed, image)
		return []assembly.Step{{Kind: assembly.StepResult, At: at, Blocks: []assembly.Block{b}}}, err
	case "bashExecution":
		b := mk.Added(m.Command + "\n" + m.Output)
		return []assembly.Step{{Kind: assembly.StepInput, At: at, Blocks: []assembly.Block{b}}}, nil
	}
	if m.Role == "system" {
		return nil, nil // the system prompt in sections, since 1.x
	}
	if m.Usage != nil {
		return nil, fmt.Errorf("role %.40q is not the model's, and the message has its token counts", m.Role)
	}
	blocks, err := blocksOf(mk, m.Content, prompt.KindPrompt)
	return []assembly.Step{{Kind: assembly.StepInput, At: at, Blocks: blocks}}, err
}

// answer returns the steps of the model's message, written when it ended. One
// that failed before any token was counted is no call and is not sent again.
func (l *line) answer(mk assembly.Maker, at int64) ([]assembly.Step, error) {
	m := &l.Message
	u := m.Usage.usage()
	if !u.OK && !u.Bad && (m.StopReason == "error" || m.StopReason == "aborted") {
		return nil, nil
	}
	blocks, err := blocksOf(mk, m.Content, prompt.KindText)
	begun := assembly.Millis(m.Timestamp)
	if begun == 0 && m.Timestamp != 0 || begun > at {
		begun = at
	}
	first := int64(0)
	if begun != 0 && m.First > 0 && m.First < float64(at-begun)/1e6 {
		first = begun + int64(m.First*1e6)
	}
	id := m.ResponseID
	if id == "" {
		id = l.ID + "@" + strconv.FormatInt(m.Timestamp, 10)
	}
	return []assembly.Step{
		{Kind: assembly.StepInput, At: begun},
		{Kind: assembly.StepReply, At: at, First: first, ID: id, Blocks: blocks},
		{Kind: assembly.StepCount, At: at, Model: assembly.ModelName(m.Model), Gateway: m.Gateway, Usage: u, Final: u.OK},
	}, err
}

// usage returns the counts of a call. Input excludes what was read and written;
// output includes thinking.
func (c *counts) usage() assembly.Usage {
	if c == nil {
		return assembly.Usage{}
	}
	reasoning := int64(-1)
	if r := c.Reasoning; r != nil && *r >= 0 {
		reasoning = *r
	}
	u := assembly.Counts(c.Input, c.Read, c.Write, c.Output, c.Sum, reasoning)
	if n := c.Write1h; n != nil && u.OK {
		long := min(max(0, *n), u.Write5m)
		u.Write5m, u.Write1h, u.Assumed = u.Write5m-long, long, false
	}
	return u
}

// blocksOf returns the blocks of content, a string or a list; kind is the kind of its texts.
func blocksOf(mk assembly.Maker, v jsontext.Value, kind prompt.Kind) ([]assembly.Block, error) {
	if v.Kind() == '"' {
		var text string
		err := assembly.Decode(v, &text)
		return []assembly.Block{mk.Text(kind, text)}, err
	}
	var parts []content
	if v.Kind() != '[' {
		return nil, nil
	}
	if err := assembly.Decode(v, &parts); err != nil {
		return nil, err
	}
	var list []assembly.Block
	for _, p := range parts {
		switch p.Type {
		case "text":
			list = append(list, mk.Text(kind, p.Text))
		case "thinking":
			b := mk.Text(prompt.KindThinking, p.Thinking)
			if p.Thinking == "" {
				b.Digest = b.Digest.Extend(prompt.DigestString(p.Signature))
				b.Bytes = int32(len(p.Signature) / 4 * 3)
				if mk.Keep {
					b.Text.Withheld = true
				}
			}
			list = append(list, b)
		case "toolCall":
			list = append(list, mk.Use(assembly.CallID(p.ID), p.Name, p.Arguments))
		case "image":
			list = append(list, mk.Text(prompt.KindImage, p.Data))
		default:
			mk.Skip(p.Type)
		}
	}
	return list, nil
}

// textsOf returns the joined texts of content and whether it has an image. It
// counts unknown types of content.
func textsOf(v jsontext.Value, unknown map[string]int) (text string, image bool, err error) {
	blocks, err := blocksOf(assembly.Maker{Keep: true, Unknown: unknown}, v, prompt.KindText)
	var b strings.Builder
	for i := range blocks {
		if blocks[i].Kind == prompt.KindImage {
			image = true
			continue
		}
		b.WriteString(blocks[i].Text.Text)
	}
	return b.String(), image, err
}

// settings are the settings of pi and Oh-My-Pi that a simulation follows: compaction begins at the window less the reserve, and at a
// share of the window that a person sets (Oh-My-Pi 18.2.3: src/config/settings-schema.ts, in percent).
func settings() []facts.Setting {
	return []facts.Setting{{
		Name: "compaction.reserveTokens", Group: facts.GroupThreshold, Where: "~/.pi/agent/settings.json",
		Snippet: `{"compaction": {"reserveTokens": %s}}`, Does: "keep %s tokens free",
		Values: []string{"40000", "60000", "80000", "100000", "120000"},
		Below:  "a smaller reserve is near the client's own, 16,384", Above: facts.NoRoom,
		Assign: "full-compact.trigger.reserve=%s", Variants: []string{""},
	}, {
		Name: "compaction.thresholdPercent", Group: facts.GroupThreshold, Where: "~/.omp/agent/config.yml",
		Snippet: "compaction: {thresholdPercent: %s}", Does: "compact at %s % of the window",
		Values: []string{"30", "40", "50", "60", "70"},
		Below:  facts.NoRoom, Above: "a larger one is near the client's own, 85",
		Assign: "full-compact.trigger.pct_override=%s", Variants: []string{facts.VariantOhMyPi},
	}}
}

// addSummaryCalls adds to a compaction the counts of its calls: two where it cuts a turn and messages precede that turn.
func (f *file) addSummaryCalls(l *line, s *assembly.Step) {
	if l.Usage == nil {
		s.Usage.Bad = f.hour && !l.Hook
		return
	}
	s.Usage, s.Model, s.Calls = l.Usage.usage(), assembly.ModelName(f.model), 1
	kept, ok := f.index.Get(l.Kept)
	if !ok || f.said[kept] == saidByPerson {
		return
	}
	turn := f.Parent(kept)
	for turn >= 0 && f.said[turn] != saidByPerson {
		turn = f.Parent(turn)
	}
	for turn >= 0 {
		if turn = f.Parent(turn); turn >= 0 && f.said[turn] != saidNothing {
			s.Calls = 2
			return
		}
	}
}

// says returns what a line adds to the conversation.
func (l *line) says() said {
	switch {
	case l.Type == "message" && (l.Message.Role == "user" || l.Message.Role == "bashExecution"):
		return saidByPerson
	case l.Type == "message" && l.Message.Role != "system", l.Type == "custom_message", l.Type == "branch_summary":
		return saidOther
	}
	return saidNothing
}

// edit takes an answer out of what is sent from then on. It stays in the bill.
func (f *file) edit(l *line) {
	i, ok := f.index.Get(l.Target)
	if !ok || l.Instead.Kind() != 'n' {
		return
	}
	steps := f.Steps(i)
	for k := range steps {
		if steps[k].Kind == assembly.StepReply {
			steps[k].Blocks = nil
		}
	}
	f.Set(i, steps)
}
