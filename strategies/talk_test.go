package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/prompt/op"
	"github.com/compactsim/compactsim/sim/results/measures"
)

// talk is a conversation under construction, as a layer's turn sees it: 12,000
// tokens of tools, 4,000 of system prompt, 2,000 of reminders, a prompt of 500.
// Every block holds four bytes a token, so that the client's estimate is exact.
type talk struct {
	Turn
	arena prompt.Arena
	calls int32
	disk  disk // what restored knows of files
}

// quiet is a host that does nothing.
type quiet struct{}

func (quiet) Count(measures.ID, int64)        {}
func (quiet) Refuse(_, reason string) Outcome { return Outcome{Declined, reason} }
func (quiet) Delete(int32)                    {}
func (quiet) Undelete(int32)                  {}
func (quiet) IsDeleted(int32) bool            { return false }
func (quiet) SetMemory(int32, prompt.Digest)  {}
func (quiet) Post(Message)                    {}
func (quiet) Draw(string, uint8) float64      { return 0 }

func newTalk() *talk {
	k := &talk{}
	k.Host = quiet{}
	k.Tools = []string{"", "Read", "Bash", "Task", "Skill", "TodoWrite", "EnterPlanMode", "ExitPlanMode", "Write", "mcp__db__query", "Edit"}
	k.Context = new(prompt.Context)
	k.Context.Reset(nil, &k.arena)
	k.Reading = Reading{Window: 200_000, MaxOutput: 32_000}
	k.add(prompt.KindTools, 12000)
	k.add(prompt.KindSystem, 4000)
	k.add(prompt.KindReminder, 2000)
	k.add(prompt.KindPrompt, 500)
	return k
}

func (k *talk) add(kind prompt.Kind, tokens int32) *prompt.Block {
	k.Context.Add(prompt.Block{
		Kind: kind, Tokens: tokens, Bytes: tokens * 4, Object: -1,
		Digest: prompt.DigestString("talk").ExtendInt(uint64(k.Context.Len())),
	})
	k.InputAt = k.Context.Len()
	k.Reading.Values[MeasureClientTokens] = int64(k.Context.Tokens())
	return k.Context.BlockAt(k.Context.Len() - 1)
}

var ops = map[string]op.Op{"Read": op.Read, "Write": op.Write, "Edit": op.Edit, "Task": op.Agent}

// use adds a response of 100 tokens that calls a tool, and returns the call.
func (k *talk) use(tool, path string, tokens int32) *prompt.Block {
	b := k.add(prompt.KindToolUse, tokens)
	k.calls++
	b.Call, b.Op = k.calls, ops[tool]
	for i, name := range k.Tools {
		if name == tool {
			b.Tool = uint16(i)
		}
	}
	if path != "" {
		b.Object = k.path(path)
	}
	if len(tool) > 3 && tool[:3] == "mcp" {
		b.Flags |= prompt.FlagMCP
	}
	return b
}

func (k *talk) path(path string) int32 {
	for i, p := range k.Objects {
		if p == path {
			return int32(i)
		}
	}
	k.Objects = append(k.Objects, path)
	return int32(len(k.Objects) - 1)
}

// round adds a call of a tool with 100 tokens of input and its result.
func (k *talk) round(tool, path string, result int32) *prompt.Block {
	u := *k.use(tool, path, 100)
	r := k.add(prompt.KindToolResult, result)
	r.Call, r.Op, r.Tool, r.Object, r.Flags = u.Call, u.Op, u.Tool, u.Object, u.Flags
	return r
}

// sizes returns the tokens of the entries from position from on.
func (k *talk) sizes(from int) []int32 {
	var list []int32
	for i := from; i < k.Context.Len(); i++ {
		list = append(list, k.Context.At(i).Tokens)
	}
	return list
}

// results returns the tokens of the tool results.
func (k *talk) results() []int32 {
	var list []int32
	for i := range k.Context.Len() {
		if e := k.Context.At(i); e.Kind == prompt.KindToolResult {
			list = append(list, e.Tokens)
		}
	}
	return list
}

// layer returns a layer of a preset of one layer, or of one written in YAML.
func layer(t *testing.T, text string) Layer {
	t.Helper()
	r := builtin(t)
	if err := r.AddPreset([]byte("name: test\nlayers:\n  - "+text+"\n"), "test.yaml"); err != nil {
		t.Fatal(err)
	}
	s, err := r.Strategy("test")
	if err != nil {
		t.Fatal(err)
	}
	return s.Layers()[0]
}
