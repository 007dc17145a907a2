package validate

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
)

// The kinds of entity.
const (
	entityPath     = "path"     // a file that was read, edited or written
	entityCommand  = "command"  // a command that was run: its first line
	entityError    = "error"    // the line that says what failed
	entitySentence = "sentence" // a sentence of the person
	entityTask     = "task"     // a task that was open at the end
)

// piece is a block of the conversation with its text.
type piece struct {
	kind   prompt.Kind
	meta   bool           // injected by the client
	failed bool           // the result of a call that failed
	object string         // path of the file that a call is about, "" for none
	text   string         // of a prompt or a result
	input  jsontext.Value // of a call: a JSON object
}

// entity is something worth keeping in the part that a summary replaces.
type entity struct {
	kind, text string
	kept       bool // the summary has it
}

// entities returns what is worth keeping in the part that a summary replaces,
// in order of first appearance, open tasks last, and whether the summary has it
// word for word. root is the folder of the project, below which paths may be
// relative; "" for none.
//
// The survival of a string is an upper bound of what a model still knows: a
// summary can have a path without saying what was done to it.
func entities(root string, span []piece, summary string) []entity {
	x := entityIndex{seen: map[entity]bool{}}
	for i := range span {
		x.piece(&span[i])
	}
	list, text := append(x.list, x.tasks...), squeeze(summary)
	for i := range list {
		list[i].kept = list[i].in(text, root)
	}
	return list
}

// in reports whether a text has the entity, ignoring white space.
func (e *entity) in(text, root string) bool {
	if strings.Contains(text, e.text) {
		return true
	}
	rest, below := strings.CutPrefix(e.text, strings.TrimSuffix(root, "/")+"/")
	return e.kind == entityPath && root != "" && below && len(rest) >= minText && strings.Contains(text, rest)
}

// entityIndex collects the entities of a stretch of conversation, by their texts with single white space.
type entityIndex struct {
	list  []entity
	seen  map[entity]bool
	tasks []entity // the open ones of the last list
}

// Limits of entities, bytes: shorter strings match by chance, longer ones are
// not repeated word for word. Assumed.
const (
	minText = 6
	maxText = 240
)

// piece collects the entities of a piece.
func (x *entityIndex) piece(p *piece) {
	switch {
	case p.kind == prompt.KindToolUse:
		x.add(entityPath, p.object)
		x.call(p.input)
	case p.kind == prompt.KindToolResult && p.failed:
		x.add(entityError, errorLine(p.text))
	case p.kind == prompt.KindPrompt && !p.meta:
		for _, s := range sentences(p.text) {
			x.add(entitySentence, s)
		}
	}
}

func (x *entityIndex) add(kind, text string) {
	e := entity{kind: kind, text: squeeze(text)}
	if len(e.text) < minText || len(e.text) > maxText || x.seen[e] {
		return
	}
	x.seen[e] = true
	x.list = append(x.list, e)
}

// call collects the content of a tool call: the command it runs, the tasks it lists.
func (x *entityIndex) call(input jsontext.Value) {
	var in struct {
		Command jsontext.Value `json:"command"` // a string, or a list of words
		Todos   []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
		Plan []struct {
			Step   string `json:"step"`
			Status string `json:"status"`
		} `json:"plan"`
	}
	if len(input) == 0 || json.Unmarshal(input, &in) != nil {
		return // another tool's input with the same names
	}
	command, _, _ := strings.Cut(strings.TrimSpace(commandLine(in.Command)), "\n")
	x.add(entityCommand, command)
	if len(in.Todos) == 0 && len(in.Plan) == 0 {
		return
	}
	x.tasks = x.tasks[:0]
	open := func(text, status string) {
		if text = squeeze(text); status != "completed" && len(text) >= minText && len(text) <= maxText {
			x.tasks = append(x.tasks, entity{kind: entityTask, text: text})
		}
	}
	for _, t := range in.Todos {
		open(t.Content, t.Status)
	}
	for _, t := range in.Plan {
		open(t.Step, t.Status)
	}
}

// commandLine returns a command given as a string, or as words, the last of
// which may be a shell's script (bash -lc SCRIPT).
func commandLine(v jsontext.Value) string {
	var line string
	if json.Unmarshal(v, &line) == nil {
		return line
	}
	var words []string
	if json.Unmarshal(v, &words) != nil || len(words) == 0 {
		return ""
	}
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// squeeze makes white space single and trims both ends.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

var errorWord = regexp.MustCompile(`(?i)\b(error|fail|failed|failure|fatal|panic|exception|cannot|denied|` +
	`not found|no such|undefined|invalid)\b`)

// errorLine returns the line of a failed result that says what is wrong: the
// first with a word for it, else the first line.
func errorLine(text string) string {
	first := ""
	for line := range strings.Lines(text) {
		line = squeeze(line)
		switch {
		case line == "":
		case errorWord.MatchString(line) && len(line) <= maxText:
			return line
		case first == "":
			first = line
		}
	}
	return first
}

// sentences returns the sentences of four words or more. Lines end sentences;
// text in the client's own tags is left out.
func sentences(text string) []string {
	var list []string
	for line := range strings.Lines(clientTags.ReplaceAllString(text, "\n")) {
		for line != "" {
			end := sentenceEnd(line)
			if s := squeeze(line[:end]); strings.Count(s, " ") >= 3 {
				list = append(list, s)
			}
			line = line[end:]
		}
	}
	return list
}

// clientTags match what a client adds to the typed prompt.
var clientTags = func() *regexp.Regexp {
	const tags = "(system-reminder|command-name|command-message|command-args|local-command-stdout|local-command-stderr|" +
		"local-command-caveat|environment_context|user_instructions|INSTRUCTIONS)"
	return regexp.MustCompile("(?s)<" + tags + ">.*?</" + tags + ">")
}()

// sentenceEnd returns the index after the first full stop, question or
// exclamation mark that white space follows, or the length.
func sentenceEnd(s string) int {
	for i, r := range s {
		if !strings.ContainsRune(".!?。！？", r) {
			continue
		}
		end := i + utf8.RuneLen(r)
		if end >= len(s) || strings.ContainsRune(" \t\r\n", rune(s[end])) || r > utf8.RuneSelf {
			return end
		}
	}
	return len(s)
}
