package agents

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/facts"
	"github.com/compactsim/compactsim/traces/internal/assembly"
	"github.com/compactsim/compactsim/traces/internal/sqlite"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// sniffed is how much of a file is looked at, bytes: the first line of a
	// rollout carries the instructions, ≈ 40 kB, but its type comes first.
	sniffed = 64 << 10
	// sniffedLines is how many lines are tried: the first may be damaged.
	sniffedLines = 8
)

// claim is whose a file is: nil when nobody claims it, or it cannot be read. rival is another one who claims it.
type claim struct{ agent, rival *facts.Agent }

// sniff returns the agent that wrote a file, by its first lines or, of a database, by its tables.
func sniff(ctx context.Context, in traces.Input) claim {
	for _, n := range []int{sniffed / 16, sniffed} {
		head, err := in.Head(n)
		if sqlite.Has(head) {
			return sniffDatabase(ctx, in)
		}
		if c := claimOf(head); c.agent != nil || err != nil || len(head) < n {
			return c
		}
	}
	return claim{}
}

// sniffDatabase returns the agent that keeps a database. One that cannot be opened goes to a reader that says why.
func sniffDatabase(ctx context.Context, in traces.Input) claim {
	schema, ok := sqlite.Schema(ctx, in)
	head, nobody := []byte(sqlite.Magic+schema), strange
	if !ok {
		head, _ = in.Head(sniffed) // the reader says what is wrong with it
		nobody = Of(facts.OpenCode)
	}
	c := claimOf(head)
	c.agent = cmp.Or(c.agent, nobody)
	return c
}

// strange is whoever keeps a database that no client keeps.
var strange = &facts.Agent{Name: "database", Title: "a program whose database has no client's tables"}

// claimOf returns the agent that wrote a file that begins with head.
func claimOf(head []byte) claim {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if c := claimBy(func(a *facts.Agent) bool { return a.Document != nil && a.Document(head) }); c.agent != nil {
		return c
	}
	tried := 0
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if a := agentOfLine(line); a != nil {
			return claim{agent: a}
		}
		if tried++; tried == sniffedLines {
			break
		}
	}
	return claim{}
}

// agentOfLine returns the agent that wrote a line, which may be cut off.
func agentOfLine(line []byte) *facts.Agent {
	d := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	typ := ""
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return nil
		}
		name := t.String()
		if c := claimBy(func(a *facts.Agent) bool { return a.Member != nil && a.Member(typ, name) }); c.agent != nil {
			return c.agent
		}
		if name != "type" {
			if err := d.SkipValue(); err != nil {
				return nil
			}
			continue
		}
		if t, err = d.ReadToken(); err != nil {
			return nil
		}
		typ = t.String()
	}
}

// known are all agents, those with a reader first.
var known = slices.Concat(list[:], unread[:])

// claimBy returns the first agent that claims something.
func claimBy(claims func(*facts.Agent) bool) (c claim) {
	for _, a := range known {
		switch {
		case !claims(a):
		case c.agent != nil:
			c.rival = a
			return c
		default:
			c.agent = a
		}
	}
	return c
}

// unread are agents and tools whose recordings are known by sight and have no
// reader. They are looked for first, since some resemble what others write.
var unread = [...]*facts.Agent{
	{Name: "iflow", Title: "the iFlow CLI", Document: looks(func(l *look) bool {
		return l.UUID != "" && strings.HasPrefix(l.SessionID, "session-")
	})},
	{Name: "agent-traces", Title: "the simple form of Hugging Face's agent traces, which has no token counts", Document: looks(func(l *look) bool {
		return l.Type == "session" && l.Harness != nil && l.Version == nil && l.Cwd == nil
	})},
	{Name: "langfuse", Title: "Langfuse, whose exports mix calls with the spans around them", Document: func(head []byte) bool { // long inputs may hide the rest of an observation
		return holds(head, `"observations"`, `"GENERATION"`) || holds(head, `"traceId"`, `"GENERATION"`)
	}},
	{Name: "langsmith", Title: "LangSmith, whose runs mix calls with the steps around them", Document: func(head []byte) bool {
		return holds(head, `"run_type"`, `"start_time"`)
	}},
	{Name: "litellm", Title: "LiteLLM, whose rows without messages have no count of cached tokens", Document: func(head []byte) bool {
		return !holds(head, `"messages"`) && looks(func(l *look) bool {
			return l.CallType != nil && (l.StartTime != nil || l.PromptTokens != nil)
		})(head)
	}},
	{Name: "openhands", Title: "OpenHands, whose counts of calls stand in another file than what was said", Document: func(head []byte) bool {
		return holds(head, `"llm_metrics"`, `"accumulated_token_usage"`) || holds(head, `"persistence_dir"`) || bytes.HasPrefix(head, []byte(`{"id":`)) && holds(head, `"agent":{"llm":`)
	}},
	{Name: "crush", Title: "Crush, and of OpenCode before its rewriting, whose database keeps the counts of a session's last call alone", Document: func(head []byte) bool {
		return sqlite.Has(head, "summary_message_id")
	}},
	{Name: "grok-build", Title: "Grok Build, whose counts are sums of turns", Document: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte(`{"type":"system","content":"You are Grok`)) || holds(head, `"method":"session/update"`, `"agentTimestampMs"`) ||
			holds(head, `"type":"turn_started"`, `"conversation_message_count"`) || holds(head, `"src":"shell"`, `"grok_home"`)
	}},
	{Name: "droid", Title: "Factory's Droid, whose counts are sums of sessions", Document: func(head []byte) bool {
		return bytes.HasPrefix(head, []byte(`{"type":"session_start","id":`))
	}},
	{Name: "goose-lines", Title: "Goose before its database, whose lines have the counts of a session alone", Document: looks(func(l *look) bool {
		return l.Dir != nil && l.Accumulated != nil
	})},
	{Name: "aider", Title: "aider, whose analytics have no count of cached tokens", Document: func(head []byte) bool {
		return holds(head, `"event"`, `"properties"`, `"aider_version"`) || holds(head, `"event"`, `"message_send"`, `"main_model"`)
	}},
	{Name: "cline-extension", Title: "the extensions Cline, Roo and Kilo", Document: func(head []byte) bool {
		return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("[")) && holds(head, `"ts"`) && (holds(head, `"say"`) || holds(head, `"ask"`))
	}},
}

// holds reports whether the head of a file holds all of some texts.
func holds(head []byte, texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !bytes.Contains(head, []byte(text)) })
}

// look are members of the first object of a file by which it is known.
type look struct {
	Type         string         `json:"type"`
	UUID         string         `json:"uuid"`
	SessionID    string         `json:"sessionId"`
	Harness      jsontext.Value `json:"harness"`
	Version      jsontext.Value `json:"version"`
	Cwd          jsontext.Value `json:"cwd"`
	CallType     jsontext.Value `json:"call_type"`
	StartTime    jsontext.Value `json:"startTime"`
	PromptTokens jsontext.Value `json:"prompt_tokens"`
	Dir          jsontext.Value `json:"working_dir"`
	Accumulated  jsontext.Value `json:"accumulated_total_tokens"`
}

// looks returns a function that reports whether the first object of a file, alone or in a
// list, is as is says, as far as the head has it.
func looks(is func(*look) bool) func(head []byte) bool {
	return func(head []byte) bool {
		d := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if d.PeekKind() == '[' {
			_, _ = d.ReadToken() // it was peeked at
		}
		var l look
		_ = json.UnmarshalDecode(d, &l) // what precedes a cut or a member of another kind has been read
		return is(&l)
	}
}

// A file that no reader knows is a loss if it is a recording: of a form that has changed, or with a damaged beginning. A client's
// settings, caches and indexes, which lie beside recordings, are none.

// companions are names of files of JSON lines that clients keep beside their sessions: what was typed, and where sessions lie.
// Claude Code and Codex have the first, Codex and Kimi Code the second, Grok Build the others.
var companions = []string{"history.jsonl", "session_index.jsonl", "prompt_history.jsonl", "rewind_points.jsonl"}

// requestsOfGoose are the names of the logs of its last ten requests, in ~/.local/state. Its database counts these too.
const requestsOfGoose = "llm_request.*.jsonl"

// looked is how much of a document that no reader knows is looked at for counts, bytes: a first message may be long.
const looked = 256 << 10

// counts and speech are what every recording with counts has, whatever its format: a count of tokens above 0, as providers and
// clients name it (settings have limits, lifetimes and ids under longer names), and members that hold what was said (a table of calls has none).
var (
	counts = regexp.MustCompile(`"((input|output|prompt|completion|cached|cache_?[rR]ead)(\w*[tT]oken(s|Count|_count)?)?|gen_ai\.usage[\w.]+)"\s*:\s*[1-9]\d*\s*[,}\]]`)
	speech = regexp.MustCompile(`"role"\s*:\s*"|"(messages|steps|spans|parts|content)"\s*:\s*[\[{]`)
)

// hasLines reports whether the head of a file is objects, each on a line of its own.
func hasLines(head []byte) bool {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(assembly.TrimBOM(head)), []byte("\n"))
	first = bytes.TrimSpace(first)
	return bytes.HasPrefix(first, []byte("{")) && bytes.HasSuffix(first, []byte("}")) && bytes.HasPrefix(rest, []byte("{"))
}

// linesIn reports whether a file that was found as a document has an object on each line.
func linesIn(in traces.Input) bool {
	head, err := in.Head(looked)
	return err == nil && hasLines(head)
}

// unclaimed decides about files that no reader knows.
type unclaimed struct {
	of      map[string]*facts.Agent // of each file, by name
	folders map[string]neighbours
	files   map[string]bool // files that the first reader gets, and from which no session was made
}

// neighbours are the recordings in a folder: whether there are any, and the members of one that is a document.
type neighbours struct {
	any     bool
	members []string
}

// newUnclaimed returns what is known of files once each was looked at.
func newUnclaimed(of map[string]*facts.Agent) *unclaimed {
	return &unclaimed{of: of, folders: map[string]neighbours{}, files: map[string]bool{}}
}

// companion reports whether a file is none of those that are to be read.
func (u *unclaimed) companion(in traces.Input) bool {
	requests, _ := path.Match(requestsOfGoose, path.Base(in.Name))
	if !requests && !slices.Contains(companions, path.Base(in.Name)) {
		return false
	}
	head, _ := in.Head(looked) // what cannot be read is told when it is read
	return requests && bytes.HasPrefix(head, []byte(`{"model_config":`)) || !requests && !counts.Match(head)
}

// await notes that the first reader gets a file that no reader knows, if that begins with an object: what else it may begin with is a
// bad line.
func (u *unclaimed) await(in traces.Input) {
	head, _ := in.Head(sniffed)
	if bytes.HasPrefix(bytes.TrimSpace(assembly.TrimBOM(head)), []byte("{")) {
		u.files[in.Name] = true
	}
}

// recording reports whether a document that was found in a folder looks like a recording: by counts of tokens, by a form
// that a recording in the same folder has, or as objects on lines beside one.
func (u *unclaimed) recording(in traces.Input, files []traces.Input) bool {
	head, err := in.Head(looked)
	if err != nil || counts.Match(head) && speech.Match(head) {
		return err == nil
	}
	beside := u.beside(path.Dir(in.Name), files)
	if beside.any && hasLines(head) {
		return true
	}
	same, names := 0, namesOf(head)
	for _, name := range beside.members {
		if slices.Contains(names, name) {
			same++
		}
	}
	return same > 0 && 2*same >= len(beside.members)
}

// beside returns what is known of the recordings in a folder.
func (u *unclaimed) beside(dir string, files []traces.Input) neighbours {
	found, known := u.folders[dir]
	if known {
		return found
	}
	first, _ := slices.BinarySearchFunc(files, dir+"/", func(in traces.Input, dir string) int { return strings.Compare(in.Name, dir) })
	if dir == "." {
		first = 0
	}
	for _, in := range files[first:] {
		if dir != "." && !strings.HasPrefix(in.Name, dir+"/") {
			break
		}
		a := u.of[in.Name]
		if path.Dir(in.Name) != dir || a == nil || a.Read == nil {
			continue
		}
		found.any = found.any || !in.Maybe || a.Document != nil
		if in.Maybe && a.Document != nil {
			head, _ := in.Head(sniffed) // it was read before
			found.members = namesOf(head)
			break
		}
	}
	u.folders[dir] = found
	return found
}

// namesOf returns the members of the first object of a file.
func namesOf(head []byte) (names []string) {
	for name := range assembly.Names(bytes.TrimLeft(assembly.TrimBOM(head), " \t\r\n["), 1) {
		names = append(names, name)
	}
	return names
}

// withoutCalls returns the names of the files from which the first reader, which got them, made no session with calls, in order.
func (u *unclaimed) withoutCalls(sessions []*traces.Session) (names []string) {
	for _, s := range sessions {
		for _, file := range s.Files {
			delete(u.files, file)
		}
	}
	for name := range u.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// countStrange counts files that look like recordings and that no reader knows. It returns the problem with the last one, nil for none.
func (m *merger) countStrange(names ...string) (last error) {
	for _, name := range names {
		p := traces.Problem{File: name, Text: "no reader knows this file, which looks like a recording"}
		m.corpus.Unsupported[""]++
		m.keep([]traces.Problem{p})
		last = p
	}
	return last
}
