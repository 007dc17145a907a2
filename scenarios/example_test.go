package scenarios_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/strategies"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
)

// Read sessions, run two strategies over them, print the difference.
func Example() {
	ctx := context.Background()
	corpus, err := agents.ReadFS(ctx, traces.Options{}, scenarios.Samples())
	if err != nil {
		log.Fatal(err)
	}
	defer corpus.Close()
	registry, err := strategies.Builtin()
	if err != nil {
		log.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		log.Fatal(err)
	}
	plan := scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{"recorded", "none"}, Seed: 1}
	run, err := plan.Run(ctx, corpus)
	if err != nil {
		log.Fatal(err)
	}
	none := run.Reference("none")
	difference, _ := run.VsRecorded(none)
	misses, _ := none.Total.Lookup("misses")
	fmt.Printf("%s: %+.0f %% in cost, %.0f misses\n", none.Cell, 100*difference.Relative, misses)
	// Output: none: +56 % in cost, 10 misses
}

// Bill the calls of a program that keeps no log, and ask what they would have cost with a cache marker.
func Example_calls() {
	ctx := context.Background()
	at := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	question := []agents.Block{{Kind: prompt.KindPrompt, Text: "What is in a.go?"}}
	look := []agents.Block{{Kind: prompt.KindToolUse, ID: "1", Tool: "read", Text: `{"path":"a.go"}`}}
	found := []agents.Block{{Kind: prompt.KindToolResult, ID: "1", Text: strings.Repeat("package a\n", 800)}}
	const system = "You answer questions about code."
	corpus, err := agents.FromCalls(traces.Options{}, agents.Conversation{ID: "a", Markers: 1, Calls: []agents.Call{
		{
			Model: "claude-opus-4-6", Start: at, End: at.Add(4 * time.Second), System: system, Messages: [][]agents.Block{question},
			Reply: look, Usage: prompt.Usage{Uncached: 5000, Output: 30},
		},
		{
			Model: "claude-opus-4-6", Start: at.Add(5 * time.Second), End: at.Add(9 * time.Second), System: system,
			Messages: [][]agents.Block{question, look, found},
			Reply:    []agents.Block{{Kind: prompt.KindText, Text: "A package."}}, Usage: prompt.Usage{Uncached: 8030, Output: 10},
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	registry, err := strategies.Builtin()
	if err != nil {
		log.Fatal(err)
	}
	prices, err := costmodel.Default()
	if err != nil {
		log.Fatal(err)
	}
	plan := scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{"recorded"}, Seed: 1}
	run, err := plan.Run(ctx, corpus)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"billed", "recorded"} {
		total := &run.Reference(name).Total
		calls, _ := total.Lookup("calls")
		fmt.Printf("%s: %.0f calls, $%.4f\n", name, calls, total.CostUSD())
	}
	// Output:
	// billed: 2 calls, $0.0662
	// recorded: 2 calls, $0.0537
}

// dropThinking is a layer of one's own: it forgets all thinking when a person
// writes the next prompt.
type dropThinking struct{}

func (dropThinking) Name() string              { return "drop-thinking" }
func (l dropThinking) Clone() strategies.Layer { return l }
func (dropThinking) Reset()                    {}

func (dropThinking) BeforeRequest(t *strategies.Turn) strategies.Outcome {
	if t.Trigger != traces.TriggerPrompt {
		return strategies.Outcome{Reason: "the turn goes on"}
	}
	before := int64(t.Context.Tokens())
	for i := range t.InputAt {
		if t.Context.At(i).Kind == prompt.KindThinking {
			t.Context.SetForm(i, prompt.FormCleared, 0, prompt.CauseEdit)
		}
	}
	after := int64(t.Context.Tokens())
	if after == before {
		return strategies.Outcome{Reason: "no thinking to forget"}
	}
	t.Compacted(strategies.Boundary{Kind: strategies.BoundaryMicro, Before: before, After: after})
	return strategies.Outcome{Verdict: strategies.Done}
}

// Add a layer of one's own to the registry, name it in a preset, and run it
// beside the built-in ones.
func Example_layer() {
	registry, err := strategies.Builtin()
	if err != nil {
		log.Fatal(err)
	}
	layer := strategies.Define("drop-thinking", "forgets thinking at the next prompt", struct{}{},
		func(struct{}) strategies.Layer { return dropThinking{} })
	if err := registry.Define(layer); err != nil {
		log.Fatal(err)
	}
	preset := "name: forgetful\ndoc: Thinking is for one turn only.\nlayers:\n  - drop-thinking: {}\n"
	if err := registry.AddPreset([]byte(preset), "forgetful.yaml"); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	corpus, err := agents.ReadFS(ctx, traces.Options{}, scenarios.Samples())
	if err != nil {
		log.Fatal(err)
	}
	defer corpus.Close()
	prices, err := costmodel.Default()
	if err != nil {
		log.Fatal(err)
	}
	plan := scenarios.Plan{Registry: registry, Prices: prices, Strategies: []string{"forgetful", "none"}, Verify: true}
	run, err := plan.Run(ctx, corpus)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"forgetful", "none"} {
		total := &run.Reference(name).Total
		usd, err := total.WholeUSD()
		if err != nil { // sessions ended early: the cost of less work
			log.Fatal(err)
		}
		forgotten, _ := total.Lookup("microcompactions")
		misses, _ := total.Lookup("misses")
		fmt.Printf("%s: %.0f times forgotten, %.0f misses, $%.2f\n", name, forgotten, misses, usd)
	}
	// Output:
	// forgetful: 37 times forgotten, 37 misses, $74.34
	// none: 0 times forgotten, 10 misses, $63.49
}

// The code of docs/library.md is the code of these examples.
func TestLibraryDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("docs/library.md shows no code")
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(string(source), code) {
			t.Errorf("docs/library.md shows code that is not in example_test.go:\n%s", code)
		}
	}
}
