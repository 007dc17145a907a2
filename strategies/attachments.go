package strategies

import (
	"fmt"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Attachments are what a client puts back behind a summary. Sizes are tokens.
type Attachments struct {
	Files      FileBudget  `yaml:"files" doc:"files read last, with their present content"`
	Skills     SkillBudget `yaml:"skills" doc:"skills invoked in the session, newest first"`
	Plan       bool        `yaml:"plan" doc:"the plan, whole"`
	PlanMode   int32       `yaml:"plan_mode" doc:"tokens of the reminder that plan mode goes on, while it does" off:"0"`
	Todos      bool        `yaml:"todos" doc:"the todo list as last written"`
	AgentEach  int32       `yaml:"agent_status" doc:"tokens for each sub-agent that is still running" off:"0"`
	ToolDelta  int32       `yaml:"tool_delta" doc:"tokens that announce tools loaded later"`
	AgentDelta int32       `yaml:"agent_delta" doc:"tokens that announce kinds of agents"`
	MCPDelta   int32       `yaml:"mcp_delta" doc:"tokens of instructions of MCP servers"`
	Listing    int32       `yaml:"skill_listing" doc:"tokens of the listing of all skills"`
	Relist     bool        `yaml:"resend_skill_listing" doc:"send that listing again"`
	Reminders  int32       `yaml:"reminders" doc:"tokens of other reminders that are sent anew"`
}

// SkillBudget bounds the skills that come back after a compaction.
type SkillBudget struct {
	Each  int32 `yaml:"each" doc:"tokens a skill is cut to; 0 for none" off:"0"`
	Total int32 `yaml:"total" doc:"tokens of all skills"`
}

// Validate returns what is wrong with the budgets.
func (p *Attachments) Validate() []error {
	errs := p.Files.Validate()
	if p.Skills.Each > p.Skills.Total {
		errs = append(errs, fmt.Errorf("skills: each %d is more than total %d", p.Skills.Each, p.Skills.Total))
	}
	if p.Relist && p.Listing == 0 {
		errs = append(errs, fmt.Errorf("resend_skill_listing: skill_listing has no size"))
	}
	return errs
}

// most returns the tokens of files and skills that may come back.
func (p *Attachments) most() int64 {
	return min(int64(p.Files.Count)*int64(p.Files.Each), int64(p.Files.Total)) + int64(p.Skills.Total)
}

// attach returns what comes back when the entries [from, to) are compacted, and
// the number of files among it. Files in kept, by object, do not come back.
func (p *Attachments) attach(t *Turn, from, to int, kept []int32, c *Carried) ([]prompt.Ref, int) {
	refs := p.Files.restore(t, from, to, kept)
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
		listing = p.Listing
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
		{"plan mode", planMode, 0}, {"agents", p.AgentEach * c.running, 0},
		{"tools", p.ToolDelta, 0}, {"agent kinds", p.AgentDelta, 0}, {"MCP", p.MCPDelta, 0},
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

// restore appends the skills that fit, newest first, each cut to its size.
func (s *SkillBudget) restore(refs []prompt.Ref, arena *prompt.Arena, skills []memory) []prompt.Ref {
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
