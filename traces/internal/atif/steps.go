package atif

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces/internal/assembly"
)

// step is a step of a trajectory. Before 1.0 it had a role, and the results of tools
// were steps of their own.
type step struct {
	ID        assembly.Count `json:"step_id"` // from 1
	Source    string         `json:"source"`
	Role      string         `json:"role"`
	Time      string         `json:"timestamp"`
	Model     string         `json:"model_name"`
	Message   jsontext.Value `json:"message"` // a string, or parts
	Reasoning string         `json:"reasoning_content"`
	Uses      []struct {
		ID        string         `json:"tool_call_id"`
		Name      string         `json:"function_name"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"tool_calls"`
	Observation struct {
		Results []result `json:"results"`
	} `json:"observation"`
	Results []result `json:"results"`
	Metrics *metrics `json:"metrics"`
	Copied  bool     `json:"is_copied_context"`
	Calls   *int     `json:"llm_call_count"`
}

// result is the result of a tool, of a sub-agent, or of the environment.
type result struct {
	Call    string         `json:"source_call_id"`
	Content jsontext.Value `json:"content"`
	Started []struct {
		Session    string `json:"session_id"`
		Trajectory string `json:"trajectory_id"`
	} `json:"subagent_trajectory_ref"`
}

// metrics are the counts of a call. Input includes what was read and written; no standard
// name has writes.
type metrics struct {
	Prompt     assembly.Count `json:"prompt_tokens"`
	Cached     assembly.Count `json:"cached_tokens"`
	Completion assembly.Count `json:"completion_tokens"`
	USD        float64        `json:"cost_usd"`
	Extra      struct {
		Creation   assembly.Count `json:"cache_creation_input_tokens"`
		WriteInput assembly.Count `json:"cache_write_input_tokens"`
		Write      assembly.Count `json:"cache_write_tokens"`
		Lifetimes  struct {
			Hour assembly.Count `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
		Iterations jsontext.Value `json:"iterations"`
		Speed      string         `json:"speed"`
		Geo        string         `json:"inference_geo"`
		Tier       string         `json:"service_tier"`
	} `json:"extra"`
}

// part is a part of a message.
type part struct {
	Type   string         `json:"type"`
	Text   string         `json:"text"`
	Source jsontext.Value `json:"source"`
}

func (p *part) text() *string {
	p.Type = "text"
	return &p.Text
}

// usage splits the counts of a call into disjoint classes.
func (m *metrics) usage() assembly.Usage {
	l := assembly.Logged{Input: m.Prompt, Read: m.Cached, Write: cmp.Or(m.Extra.Creation, m.Extra.WriteInput, m.Extra.Write), Output: m.Completion, Hour: m.Extra.Lifetimes.Hour}
	return l.Usage()
}

// step adds a step, and reports whether it has counts of its own.
func (t *trajectory) step(line int, s *step) (counted bool) {
	at := t.part.At(t.Stamp(line, []byte(s.Time)))
	before := t.said
	steps := []assembly.Step{}
	add := func(k assembly.StepKind, blocks []assembly.Block) {
		t.said += t.Weigh(blocks...)
		if len(blocks) > 0 || k == assembly.StepReply {
			steps = append(steps, assembly.Step{Kind: k, At: at, Line: int32(line), Model: t.named(s), Blocks: blocks})
		}
	}
	counted = s.Metrics != nil && !s.Copied
	t.resumed = t.resumed || s.Copied
	switch source := cmp.Or(s.Source, s.Role); source {
	case "agent", "assistant":
		switch blocks := t.answer(s); {
		case counted || !s.Copied && (s.Calls == nil || *s.Calls > 0):
			add(assembly.StepReply, blocks)
		default: // copied, or written without a model
			add(assembly.StepInput, blocks)
		}
	case "system":
		if t.part.Len() > 0 && len(s.Observation.Results) == 0 { // what opens a conversation is the system prompt
			add(assembly.StepInput, t.message(prompt.KindAttachment, s.Message))
		}
	case "user":
		kind, step := prompt.KindPrompt, assembly.StepInput
		if t.compact {
			kind, step, t.compact = prompt.KindSummary, assembly.StepCompact, false
		}
		add(step, t.message(kind, s.Message))
	case "observation":
	default:
		t.Unknown["step/"+source]++
	}
	if counted {
		steps = t.count(steps, line, at, before, s)
	} else if n := len(steps); n > 0 && steps[n-1].Kind == assembly.StepReply {
		t.part.Bare(line)
	}
	add(assembly.StepResult, t.results(s))
	t.part.Tree.Add(t.part.Len()-1, steps)
	return counted
}

// count ends a call, or several that a step sums.
func (t *trajectory) count(steps []assembly.Step, line int, at, before int64, s *step) []assembly.Step {
	m := s.Metrics
	t.part.USD += t.Cost(line, m.USD)
	t.sum.add(sums{m.Prompt, m.Cached, m.Completion})
	usages := []assembly.Usage{m.usage()}
	if u := usages[0]; s.Calls != nil && *s.Calls > 1 && *s.Calls <= maxCalls && u.OK {
		usages = make([]assembly.Usage, *s.Calls)
		var list []assembly.Portion
		for i := range usages {
			list = append(list, assembly.Portion{Of: &usages[i], Context: before, Before: t.before})
			t.before = max(1, before)
		}
		total := assembly.Total{Input: u.Input(), Read: u.Read, Write: u.Writes(), Output: u.Output}
		if total.Spread(list) != nil {
			usages = []assembly.Usage{u}
		}
	}
	t.before = max(1, before)
	for i, u := range usages {
		steps = append(steps, assembly.Step{
			Kind: assembly.StepCount, At: at, Line: int32(line), ID: fmt.Sprint(t.part.ID, "/", t.part.Len(), "/", i), Model: t.named(s), Usage: u, Final: u.OK,
		})
	}
	steps[len(steps)-len(usages)].Summaries = assembly.Summaries(m.Extra.Iterations)
	return steps
}

// named returns the model of a step without its provider, with the terms that it was served under.
func (t *trajectory) named(s *step) string {
	name := assembly.ModelName(cmp.Or(s.Model, t.model))
	if s.Metrics == nil {
		return name
	}
	return assembly.Served(name, s.Metrics.Extra.Speed, s.Metrics.Extra.Geo, s.Metrics.Extra.Tier)
}

// maxCalls is the largest number of calls that a step is believed to sum.
const maxCalls = 1000

// answer returns the blocks of what the agent wrote.
func (t *trajectory) answer(s *step) (list []assembly.Block) {
	if s.Reasoning != "" {
		list = append(list, t.Maker.Text(prompt.KindThinking, s.Reasoning))
	}
	list = append(list, t.message(prompt.KindText, s.Message)...)
	for i := range s.Uses {
		u := &s.Uses[i]
		list = append(list, t.Maker.Use(assembly.CallID(u.ID), u.Name, u.Arguments))
	}
	return list
}

// results returns the results of a step. Sub-agents that no tool started, but the system, made the
// summary of a compaction.
func (t *trajectory) results(s *step) (list []assembly.Block) {
	for _, r := range append(s.Observation.Results, s.Results...) {
		for _, sub := range r.Started {
			t.part.Tasks[cmp.Or(sub.Trajectory, sub.Session)] = assembly.CallID(r.Call)
			t.compact = t.compact || s.Source == "system"
		}
		id := r.Call
		if id == "" && len(s.Uses) == 1 {
			id = s.Uses[0].ID
		}
		if len(r.Content) > 0 && r.Content.Kind() != 'n' {
			text, image := "", false
			for _, p := range assembly.PartsOf(t.Maker, r.Content, (*part).text) {
				text, image = text+p.Text, image || p.Type == "image"
			}
			list = append(list, t.Maker.Result(assembly.CallID(id), text, false, image))
		}
	}
	return list
}

// message returns the blocks of a message. k is the kind of its texts.
func (t *trajectory) message(k prompt.Kind, v jsontext.Value) (list []assembly.Block) {
	for _, p := range assembly.PartsOf(t.Maker, v, (*part).text) {
		switch p.Type {
		case "text":
			if p.Text == "" {
				continue
			}
			b := t.Maker.Text(k, p.Text)
			if k == prompt.KindAttachment {
				b.Flags |= prompt.FlagMeta
			}
			list = append(list, b)
		case "image":
			list = append(list, t.Maker.Text(prompt.KindImage, string(p.Source)))
		default:
			t.Maker.Skip(p.Type)
		}
	}
	return list
}
