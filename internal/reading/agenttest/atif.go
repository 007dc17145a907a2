package agenttest

import (
	"fmt"
	"strings"
)

// atifForm writes a trajectory of Harbor's format, whose last member sums the steps.
type atifForm struct{ input, cached, completion int }

func (*atifForm) head(*writer) {}

func (*atifForm) step(w *writer, o object) {
	o["step_id"], o["timestamp"] = len(w.lines)+1, w.stamp()
	w.line(o)
}

func (f *atifForm) prompt(w *writer, text string) {
	f.step(w, object{"source": "user", "message": text})
}

func (f *atifForm) call(w *writer, _, tool, said, result string, read, grown int) {
	output := 40 + grown%53
	f.input, f.cached, f.completion = f.input+read+grown, f.cached+read, f.completion+output
	o := object{
		"source": "agent", "message": said, "model_name": "openai/gpt-5.5",
		"metrics": object{"prompt_tokens": read + grown, "cached_tokens": read, "completion_tokens": output, "cost_usd": 0.01, "extra": object{"cache_write_tokens": grown - 3}},
	}
	if tool != "" {
		o["tool_calls"] = []object{{"tool_call_id": tool, "function_name": "read_file", "arguments": object{"path": "/repo/" + tool}}}
		o["observation"] = object{"results": []object{{"source_call_id": tool, "content": result}}}
	}
	f.step(w, o)
}

// compaction names the sub-agent that made the summary, which the next message holds.
func (f *atifForm) compaction(w *writer, summary string) {
	f.step(w, object{"source": "system", "message": "Performed context summarization and handoff to continue task.", "observation": object{
		"results": []object{{"subagent_trajectory_ref": []object{{"session_id": w.id + "-summary"}}}},
	}})
	f.prompt(w, summary)
}

func (f *atifForm) text(w *writer) string {
	return fmt.Sprintf("{\"schema_version\":\"ATIF-v1.7\",\"session_id\":%q,\"agent\":{\"name\":\"terminus-2\",\"version\":\"2.0.0\",\"model_name\":\"openai/gpt-5.5\"},\"steps\":[\n%s\n],"+
		"\"final_metrics\":{\"total_prompt_tokens\":%d,\"total_cached_tokens\":%d,\"total_completion_tokens\":%d}}\n",
		w.id, strings.Join(w.lines, ",\n"), f.input, f.cached, f.completion)
}
