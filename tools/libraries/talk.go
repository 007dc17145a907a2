package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// summarySize is how many tokens every summary has, in libraries and in the simulation: less than the most that any library asks for.
const summarySize = 400

// model is the model that all conversations are simulated and priced with.
const model = "claude-sonnet-4-5"

// window is the context window, tokens.
const window = 200_000

// headTokens are the tokens of the system prompt and of the tool, where a library adds nothing.
const headTokens = 2500

// A talk is a scripted conversation, as drivers read it. A token is four characters.
type talk struct {
	Name    string    `json:"name"`
	System  string    `json:"system"`
	Summary int       `json:"summary"`           // tokens
	Resumes bool      `json:"resumes,omitempty"` // each prompt begins with an agent that is made anew from what it stored
	Prompts []*prompt `json:"prompts"`
}

// A prompt is what a person asks, the rounds of tools that follow, and the answer.
type prompt struct {
	Text   string   `json:"text"`
	Rounds []*round `json:"rounds"`
	Answer string   `json:"answer"`
}

// A round is a response that calls the tool, once or several times at once.
type round struct {
	Say   string  `json:"say"`
	Calls []*call `json:"calls"`
}

// A call is a call of the tool, and its result.
type call struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Args   map[string]string `json:"args"`
	Result string            `json:"result"`
	Fails  bool              `json:"fails,omitempty"` // the tool raises its result as an error
}

// A shape is what a conversation is made of.
type shape struct {
	name            string
	prompts, rounds int   // rounds of each prompt
	sizes           []int // of the results in turn, tokens
	sized           sized
}

// sized is what a conversation has in other numbers than usual.
type sized struct {
	calls  int // of each round
	say    int // tokens of the text beside calls
	prompt int // tokens of each prompt
	errors int // of so many results one is an error
	resume int // 1 if each prompt begins with an agent that is made anew from its store
}

// usual are the conversations: many small results, few large ones, several prompts, one long loop.
var usual = []shape{
	{name: "small", prompts: 8, rounds: 25, sizes: []int{400, 900, 1500, 600}},
	{name: "large", prompts: 3, rounds: 9, sizes: []int{9000, 12000, 15000}},
	{name: "prompts", prompts: 6, rounds: 16, sizes: []int{1200, 4000, 9000, 2500, 600, 12000, 1500, 3000, 800, 5400}},
	{name: "loop", prompts: 1, rounds: 70, sizes: []int{1200, 4000, 6000, 2500, 600, 8000}},
}

// parseTalks reads shapes with commas between them.
func parseTalks(text string) (list []shape, err error) {
	for _, part := range strings.Split(text, ",") {
		var (
			words   = strings.Fields(part)
			numbers []int
			s       shape
			named   = map[string]*int{"calls": &s.sized.calls, "say": &s.sized.say, "prompt": &s.sized.prompt, "errors": &s.sized.errors, "resume": &s.sized.resume}
		)
		for _, w := range words[min(1, len(words)):] {
			name, value, found := strings.Cut(w, "=")
			n, err := strconv.Atoi(cmp.Or(value, name))
			switch into := named[name]; {
			case err != nil || found && into == nil:
				return nil, fmt.Errorf("conversation %q: %q is neither a number nor calls=, say=, prompt=, errors= or resume= and a number", part, w)
			case n < 0 || found && n == 0:
				return nil, fmt.Errorf("conversation %q: %q is too small", part, w)
			case found:
				*into = n
			default:
				numbers = append(numbers, n)
			}
		}
		if len(numbers) < 2 || numbers[0] < 1 || numbers[1] > 0 && len(numbers) < 3 {
			return nil, fmt.Errorf("conversation %q: want a name, prompts, rounds, and a size of results where there are rounds", part)
		}
		s.name, s.prompts, s.rounds, s.sizes = words[0], numbers[0], numbers[1], numbers[2:]
		list = append(list, s)
	}
	return list, nil
}

// talk returns the conversation of a shape.
func (s shape) talk() *talk {
	t := &talk{Name: s.name, System: fill(2000, "You are a coding agent."), Summary: summarySize, Resumes: s.sized.resume > 0}
	n := 0
	for p := range s.prompts {
		pr := &prompt{Text: fill(cmp.Or(s.sized.prompt, 100), fmt.Sprintf("prompt %d", p)), Rounds: []*round{}, Answer: fill(100, fmt.Sprintf("answer %d", p))}
		for range s.rounds {
			r := &round{Say: fill(cmp.Or(s.sized.say, 18+n*7%31), fmt.Sprintf("step %03d", n))}
			for range cmp.Or(s.sized.calls, 1) {
				r.Calls = append(r.Calls, &call{
					ID: fmt.Sprintf("call_%03d", n), Name: "look", Args: map[string]string{"path": fmt.Sprintf("/src/dir%03d/file.txt", n)},
					Result: fill(s.sizes[n%len(s.sizes)], fmt.Sprintf("result %03d", n)), Fails: s.sized.errors > 0 && n%s.sized.errors == s.sized.errors-1,
				})
				n++
			}
			pr.Rounds = append(pr.Rounds, r)
		}
		t.Prompts = append(t.Prompts, pr)
	}
	return t
}

// merged returns the conversation as one prompt and one answer.
func (t *talk) merged() *talk {
	all := &prompt{Text: t.Prompts[0].Text, Rounds: []*round{}, Answer: t.Prompts[0].Answer}
	for _, p := range t.Prompts {
		all.Rounds = append(all.Rounds, p.Rounds...)
	}
	one := *t
	one.Prompts = []*prompt{all}
	return &one
}

// fill returns a text of so many tokens that begins with a tag.
func fill(tokens int, tag string) string {
	line := tag + " abcdefgh 12345678 lorem ipsum dolor\n"
	return strings.Repeat(line, tokens*4/len(line)+1)[:tokens*4]
}

// tokens returns the tokens of a text.
func tokens(text string) int { return utf8.RuneCountInString(text) / 4 }

// requests returns how many requests the conversation has.
func (t *talk) requests() (n int) {
	for _, p := range t.Prompts {
		n += len(p.Rounds) + 1
	}
	return n
}

// put writes a value as JSON into a file, with its folder.
func put(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// trajectory returns the conversation in ATIF, without any cut, behind a head of so many tokens, with the usage of an ideal cache.
func (t *talk) trajectory(head int) map[string]any {
	var (
		steps []map[string]any
		size  = head
		read  int
		clock = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	)
	add := func(source, message string) map[string]any {
		step := map[string]any{"step_id": len(steps) + 1, "timestamp": clock, "source": source, "message": message}
		steps, clock = append(steps, step), clock.Add(10*time.Second)
		return step
	}
	say := func(message string, output int) map[string]any {
		step := add("agent", message)
		step["model_name"] = model
		step["metrics"] = map[string]any{"prompt_tokens": size, "cached_tokens": read, "completion_tokens": output,
			"extra": map[string]any{"cache_creation_input_tokens": size - read}}
		read, size = size, size+output
		return step
	}
	add("system", t.System)
	for _, p := range t.Prompts {
		add("user", p.Text)
		size += tokens(p.Text)
		for _, r := range p.Rounds {
			step := say(r.Say, r.output())
			var calls, results []any
			for _, c := range r.Calls {
				calls = append(calls, map[string]any{"tool_call_id": c.ID, "function_name": c.Name, "arguments": c.Args})
				results = append(results, map[string]any{"source_call_id": c.ID, "content": c.Result})
				size += tokens(c.Result)
			}
			step["tool_calls"], step["observation"] = calls, map[string]any{"results": results}
		}
		say(p.Answer, tokens(p.Answer))
	}
	return map[string]any{
		"schema_version": "ATIF-v1.7", "session_id": t.Name, "steps": steps,
		"agent": map[string]any{"name": "script", "version": "1", "model_name": model},
	}
}

// output returns the tokens of the response. Libraries write a space behind the colon.
func (r *round) output() int {
	n := tokens(r.Say)
	for _, c := range r.Calls {
		n += tokens(fmt.Sprintf("{\"path\": %q}", c.Args["path"]))
	}
	return n
}
