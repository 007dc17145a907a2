package strategies

import (
	"cmp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/internal/kit/spec"
	"github.com/compactsim/compactsim/internal/kit/version"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/traces/signs"
)

// attachments are what a client puts back after a summary. Sizes are tokens.
type attachments struct {
	Files      fileBudget  `yaml:"files" doc:"files read, edited or written last, with their present content"`
	Skills     skillBudget `yaml:"skills" doc:"skills invoked in the session, newest first"`
	Plan       bool        `yaml:"plan" doc:"the plan, whole"`
	PlanMode   int32       `yaml:"plan_mode" doc:"tokens of the reminder that plan mode goes on, while it does" unit:"tokens" min:"0" off:"0"`
	Todos      bool        `yaml:"todos" doc:"the todo list as last written"`
	AgentEach  int32       `yaml:"agent_status" doc:"tokens for each sub-agent that still runs, or has ended in the background and was not read" unit:"tokens" min:"0" off:"0"`
	ToolDelta  *int32      `yaml:"tool_delta" doc:"tokens that announce tools loaded later; null for the recording's or, if it shows none, the tokens in recordings of the version" unit:"tokens" min:"0" off:"0"`
	AgentDelta *int32      `yaml:"agent_delta" doc:"tokens that announce kinds of agents; null as for tools" unit:"tokens" min:"0" off:"0"`
	MCPDelta   *int32      `yaml:"mcp_delta" doc:"tokens of instructions of MCP servers; null as for tools" unit:"tokens" min:"0" off:"0"`
	Listing    int32       `yaml:"skill_listing" doc:"tokens of the listing of all skills, where the recording shows none" unit:"tokens" min:"0" needs:"resend_skill_listing"`
	Relist     bool        `yaml:"resend_skill_listing" doc:"send that listing again"`
	Late       bool        `yaml:"opening_late" doc:"what the client had put ahead of the first prompt is missing in the first request behind a compaction, and stands ahead of the summary again in the next, which misses it"`
	Reminders  int32       `yaml:"reminders" doc:"tokens of other reminders that are sent anew" unit:"tokens" min:"0"`
}

// skillBudget bounds the skills that come back after a compaction.
type skillBudget struct {
	Each  int32 `yaml:"each" doc:"tokens a skill is cut to; 0 for none" unit:"tokens" min:"0" off:"0"`
	Total int32 `yaml:"total" doc:"tokens of all skills" unit:"tokens" min:"0" needs:"each"`
}

// Rules returns contradictions between the parameters.
func (p *attachments) Rules() []error {
	if p.Relist && p.Listing == 0 {
		return []error{spec.Wrong("resend_skill_listing", "needs a skill_listing with a size")}
	}
	return nil
}

// Rules returns contradictions between the parameters.
func (s *skillBudget) Rules() []error { return eachOver(s.Each, s.Total) }

// Rules returns contradictions between the parameters.
func (b *fileBudget) Rules() []error { return eachOver(b.Each, b.Total) }

func eachOver(each, total int32) []error {
	if each > total {
		return []error{spec.Wrong("each", "%d is more than total %d", each, total)}
	}
	return nil
}

// most returns the tokens of files and skills that may come back.
func (p *attachments) most() int64 {
	return min(int64(p.Files.Count)*int64(p.Files.Each), int64(p.Files.Total)) + int64(p.Skills.Total)
}

// attach returns what comes back when the entries [from, to) are compacted, and
// the number of files among it. Files in kept, by object, do not come back.
func (p *attachments) attach(t *Turn, from, to int, kept []int32, c *Carried) ([]prompt.Ref, int) {
	c.disk.look(t)
	refs := p.Files.restore(t, from, to, kept, &c.disk)
	files := len(refs)
	arena := t.Context.Arena()
	whole := func(m memory) { refs = append(refs, arena.Add(m.block(m.tokens))) }
	if p.Todos && c.todos.tokens > 0 {
		whole(c.todos)
	}
	refs = p.Skills.restore(refs, arena, c.skills)
	if p.Plan && c.plan.tokens > 0 {
		whole(c.plan)
	}
	listing := int32(0)
	if p.Relist {
		if listing = p.Listing; t.Listing > 0 {
			listing = t.Listing
		}
	}
	planMode := int32(0)
	if c.planMode {
		planMode = p.PlanMode
	}
	for _, a := range [...]struct {
		text   string
		tokens int32
		flags  prompt.Flags
	}{
		{"plan mode", planMode, 0}, {"agents", p.AgentEach * t.Running, 0},
		{"tools", t.announcement(p.ToolDelta, signs.AnnouncedTools), 0},
		{"agent kinds", t.announcement(p.AgentDelta, signs.AnnouncedAgents), 0},
		{"MCP", t.announcement(p.MCPDelta, signs.AnnouncedServers), 0},
		{"skills", listing, prompt.FlagListing}, {"reminders", p.Reminders, 0},
	} {
		if a.tokens > 0 {
			b := reminder(a.text, a.tokens)
			b.Flags |= a.flags
			refs = append(refs, arena.Add(b))
		}
	}
	return refs, files
}

// announcement returns the tokens of an announcement: the setting, else the client's figure.
func (t *Turn) announcement(set *int32, what signs.Announcement) int32 {
	if set != nil {
		return *set
	}
	return t.Announced[what]
}

// restore appends the skills that fit, newest first, each cut to its size.
func (s *skillBudget) restore(refs []prompt.Ref, arena *prompt.Arena, skills []memory) []prompt.Ref {
	left := s.Total
	for i := len(skills) - 1; i >= 0; i-- {
		tokens := min(skills[i].tokens, s.Each)
		if tokens == 0 || tokens > left {
			continue
		}
		left -= tokens
		refs = append(refs, arena.Add(skills[i].block(tokens)))
	}
	return refs
}

// reminder is a block of a client's own text: the same every time it is sent.
func reminder(text string, tokens int32) prompt.Block {
	return prompt.Block{
		Digest: prompt.DigestString(text).ExtendInt(uint64(tokens)), Kind: prompt.KindAttachment,
		Tokens: tokens, Bytes: tokens * bytesPerToken, Object: -1, Flags: prompt.FlagMeta,
	}
}

// fileBudget bounds the files that come back after a compaction: the most
// recently accessed first.
type fileBudget struct {
	Count      int        `yaml:"count" doc:"files that may come back" unit:"files" min:"0" off:"0"`
	Each       int32      `yaml:"each" doc:"tokens of a file that comes back whole" unit:"tokens" min:"0" needs:"count"`
	Calls      bool       `yaml:"by_calls" doc:"the files that calls in the messages name come back, also where kept messages show them; a file that an earlier compaction put back was not called for" needs:"count"`
	Largest    int32      `yaml:"largest" doc:"bytes of a file that comes back whole, for clients that count characters; 0 for what each says" unit:"bytes" min:"0" needs:"count"`
	OverEach   overEach   `yaml:"over_each" doc:"a file larger than each: cut it, name it alone, or what the version of the client does" needs:"count"`
	Bytes      bool       `yaml:"by_bytes" doc:"a file has the tokens of its bytes at the rate of the recording's results" needs:"count"`
	Shown      bool       `yaml:"shown" doc:"files that a command alone has shown (cat FILE) come back too, unless claude -p began another process since" needs:"count"`
	Changed    bool       `yaml:"changed_first" doc:"the files that were changed last come first, as the client orders them by their time on disk, and then the files that were read last; where claude -p began another process, a file that was read before has the time of that; what a compaction put back or named comes back behind the next one too, unless another process began" needs:"count"`
	Total      int32      `yaml:"total" doc:"tokens of all files" unit:"tokens" min:"0" needs:"count"`
	OverBudget overBudget `yaml:"over_budget" doc:"a file that does not fit the total: skip it and go on, or stop" needs:"count"`
}

// overBudget is what happens at a file that does not fit the total.
type overBudget bool

// The two ways to treat a file over budget.
const (
	overBudgetSkip overBudget = false // 001:755: a filter, later files may fit
	overBudgetStop overBudget = true  // 004, section 6, step 5c
)

// Names returns the names used in YAML, by value.
func (overBudget) Names() []string { return []string{"skip", "stop"} }

// overEach is what happens to a file that is larger than a file may be.
type overEach uint8

// The ways to treat a large file.
const (
	overEachCut     overEach = iota // 001:72, the documents
	overEachName                    // recordings of 2.1.17 through 2.1.49
	overEachVersion                 // the second from 2.1.17 on, the first before
)

// Names returns the names used in YAML, by value.
func (overEach) Names() []string { return []string{"cut", "name", "version"} }

// nameTokens is what a reminder weighs that names a file and asks to read it; assumed.
const nameTokens = 60

// What a restored file has beyond its text, in Claude Code 2.1.332: the client's words around it, bytes, and the numbers
// of its lines, as a share of its bytes where nobody counted the lines. The limit of a file counts its text alone (22
// restored files had up to 4,994 tokens, seven that were named 5,463 and more).
const (
	readWords   = 200
	lineNumbers = 0.09
)

// names reports whether files that are larger than each are named alone.
func (b *fileBudget) names(t *Turn) bool {
	return b.OverEach == overEachName || b.OverEach == overEachVersion && namesLargeFiles(t.Version)
}

// namesLargeFiles reports whether a version of Claude Code names a large file and does not
// cut it. Without a remainder the size behind nine compactions of 2.0.76 to 2.1.7 is off by
// 3 % at the median with files that are cut and by 13 % with files that are named; behind 13
// of 2.1.17 to 2.1.49 by 25 % and 6 %, and there agents read these files anew.
func namesLargeFiles(release string) bool {
	_, ok := version.Numbers(release)
	return !ok || version.AtLeast(release, 2, 1, 17)
}

// restore returns blocks for the files accessed last among the entries [from, to): read, edited or
// written (000:468; 002:158), newest first. Files that kept messages show are left out. A file is
// read again as the disk has it now.
func (b *fileBudget) restore(t *Turn, from, to int, kept []int32, d *disk) []prompt.Ref {
	var refs []prompt.Ref
	var held []int32
	seen := slices.Clone(kept)
	if b.Calls {
		seen = nil
	}
	left, n, names := b.Total, 0, b.names(t)
	for _, file := range b.newest(t, b.accesses(t, from, to, d), d) {
		if n == b.Count {
			break
		}
		if slices.Contains(seen, file.object) || !ownFile(t, file.object) {
			continue
		}
		seen = append(seen, file.object)
		now := d.file(file.object)
		size := now.size
		bytes, counted := size.bytes, size.tokens
		perByte := 0.0
		if (b.Bytes || b.Calls) && t.Files.PerByte != nil {
			perByte = t.Files.PerByte(file.object)
		}
		switch {
		case perByte == 0:
		case !b.Bytes: // by calls, with a limit in bytes
			size.tokens = int32(float64(size.bytes)*perByte + 0.5)
		default:
			text := size.bytes - now.numbers
			if now.lines > 0 {
				size.bytes = text + now.numbering(0)
			} else {
				size.bytes = text + int32(lineNumbers*float64(text))
			}
			size.bytes += readWords
			size.tokens, counted = int32(float64(size.bytes)*perByte+0.5), int32(float64(text)*perByte+0.5)
		}
		tokens, named := size.tokens, false
		if !names {
			tokens = min(tokens, b.Each)
		} else if max(int64(counted), now.least) > int64(b.Each) || b.Largest > 0 && size.bytes > b.Largest {
			tokens, named = min(b.Each, nameTokens), true
		}
		if tokens == 0 {
			continue // empty by now, or never seen whole
		}
		n++
		if tokens > left {
			if b.OverBudget == overBudgetStop {
				break
			}
			continue
		}
		left -= tokens
		held = append(held, file.object)
		a := size.block(tokens)
		a.Digest = a.Digest.Extend(now.writes)
		if b.Bytes {
			a.Bytes = bytes
		}
		if !b.Changed || !named {
			a.Object, a.Op, a.Tool = file.object, op.Read, file.tool
		}
		refs = append(refs, t.Context.Arena().Add(a))
	}
	if b.Changed {
		d.hold(held)
	}
	return refs
}

// access is a file that the client knows, and the tool that read it, 0 for none.
type access struct {
	object int32
	tool   uint16
}

// newest returns accesses in the order in which files come back. Files that the session did not change come back by their time on
// disk, which no recording has: it shows that some are newer than others, as they came back behind its own compactions while older files did
// not. Where it shows nothing the last access decides.
func (b *fileBudget) newest(t *Turn, accesses []access, d *disk) []access {
	slices.Reverse(accesses)
	if !b.Changed {
		return accesses
	}
	slices.SortStableFunc(accesses, func(x, y access) int { return cmp.Compare(d.file(y.object).noted, d.file(x.object).noted) })
	at := slices.IndexFunc(accesses, func(a access) bool { return d.file(a.object).noted == 0 })
	if at < 0 || t.Files.Newer == nil {
		return accesses
	}
	return append(accesses[:at], byAge(accesses[at:], t.Files.Newer)...)
}

// byAge returns files with none ahead of one that is newer, each once, and otherwise in the order given.
func byAge(list []access, newer func(x, y int32) bool) []access {
	n := 0
	for _, a := range list {
		if !slices.ContainsFunc(list[:n], func(o access) bool { return o.object == a.object }) {
			list[n] = a
			n++
		}
	}
	list = list[:n]
	for i := range list {
		at := slices.IndexFunc(list[i:], func(a access) bool {
			return !slices.ContainsFunc(list[i:], func(o access) bool { return newer(o.object, a.object) })
		})
		a := list[i+max(0, at)] // compactions may contradict each other, as files change beside the session
		copy(list[i+1:], list[i:i+max(0, at)])
		list[i] = a
	}
	return list
}

// accesses returns the files of the entries [from, to) by the end of an access: a
// read, an edit or a write without error, a command of this process that shows the file. Before them stand the files
// that the client's process holds.
func (b *fileBudget) accesses(t *Turn, from, to int, d *disk) []access {
	list := make([]access, 0, 8+(to-from)/4)
	if b.Changed {
		list = d.appendHeld(list)
	}
	for i := from; i < to; i++ {
		k, block := t.Context.At(i).Kind, t.Context.BlockAt(i)
		if !showsFile(block) {
			continue
		}
		a := access{object: block.Object}
		switch k {
		case prompt.KindToolResult:
			switch block.Op {
			case op.Read:
				a.tool = block.Tool
				list = append(list, a)
			case op.Edit, op.Write:
				list = append(list, a)
			case op.Exec:
				if b.Shown && t.Context.At(i).ID > d.began {
					list = append(list, a)
				}
			}
		case prompt.KindAttachment:
			if block.Op == op.Read && !((b.Changed || b.Calls) && block.Flags&prompt.FlagMeta != 0) {
				a.tool = block.Tool
				list = append(list, a)
			}
		}
	}
	return list
}

// isRead reports whether the entry at position i shows a file that a client
// would restore: read without error, or restored before. A stub that says that the file
// is unchanged is a read (002:159).
func isRead(t *Turn, i int) bool {
	b, k := t.Context.BlockAt(i), t.Context.At(i).Kind
	return (k == prompt.KindToolResult || k == prompt.KindAttachment) && b.Op == op.Read && showsFile(b) && ownFile(t, b.Object)
}

// showsFile reports whether a block shows a file, and its call did not fail.
func showsFile(b *prompt.Block) bool { return b.Object >= 0 && b.Flags&prompt.FlagError == 0 }

// ownFile reports whether a block shows a file that returns to the context only as a
// restored file.
func ownFile(t *Turn, object int32) bool {
	path := t.object(&prompt.Block{Object: object})
	return !isPlan(path) && !isTranscript(path) && !strings.HasSuffix(path, "/CLAUDE.md") && path != "CLAUDE.md"
}

// isTranscript reports whether a path names a session's transcript.
func isTranscript(path string) bool {
	return strings.HasSuffix(path, ".jsonl") && strings.Contains(path, "/.claude/projects/")
}

// tool returns the name of a block's tool, "" for none.
func (t *Turn) tool(b *prompt.Block) string {
	if int(b.Tool) < len(t.Tools) {
		return t.Tools[b.Tool]
	}
	return ""
}

// object returns the path of a block's object, "" for none.
func (t *Turn) object(b *prompt.Block) string {
	if b.Object >= 0 && int(b.Object) < len(t.Objects) {
		return t.Objects[b.Object]
	}
	return ""
}

// isPlan reports whether a path names a plan file.
func isPlan(path string) bool { return strings.Contains(path, "/.claude/plans/") }
