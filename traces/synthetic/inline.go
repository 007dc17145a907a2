package synthetic

import "slices"

// progress returns the messages of the agent that a Task started as
// agent_progress lines of the parent's file, in order of time.
func (x *transcript) progress(task *block, c *call, taskLine string) []timed {
	sub := newTranscript(nil, x.s, task.agent, false)
	t := sub.t
	ask := request(x.s.dice, t.calls[0].input[0].words, t.calls[0].input[0].bytes)
	var group []timed
	parent := taskLine
	add := func(at int64, m agentMessage) {
		m.Timestamp, m.UUID = timestamp(at), sub.uuid()
		h, up, id := x.head, parent, x.uuid()
		h.ParentUUID = &up
		parent = id
		group = append(group, timed{at, progressLine{
			head: h, Type: "progress", UUID: id, Timestamp: timestamp(at),
			ToolUseID: "agent_" + x.s.messageID(c.id), ParentToolUseID: x.s.toolUseID(task.call),
			Data: agentProgress{Message: m, Normalized: []string{}, Type: "agent_progress", Prompt: ask, AgentID: t.agent},
		}})
	}
	add(t.calls[0].input[0].at, agentMessage{Type: "user", Message: userMessage{"user", []any{textContent{"text", ask}}}})
	for i := range t.calls {
		sc := &t.calls[i]
		for _, l := range sub.messages(sc, i) {
			add(l.at, l.line.(agentMessage))
		}
	}
	return group
}

// messages returns the messages of a call and of its results in order of time.
func (x *transcript) messages(c *call, i int) []timed {
	var group []timed
	for _, l := range x.response(c) {
		a := l.line.(assistantLine)
		group = append(group, timed{l.at, agentMessage{Type: "assistant", Message: a.Message, RequestID: a.RequestID}})
	}
	if i+1 < len(x.t.calls) {
		for _, l := range x.results(x.t.calls[i+1].input) {
			group = append(group, timed{l.at, agentMessage{Type: "user", Message: l.line.(userLine).Message}})
		}
	}
	slices.SortStableFunc(group, func(a, b timed) int { return int(min(1, max(-1, a.at-b.at))) })
	return group
}
