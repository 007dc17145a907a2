package strategies

import "fmt"

// ToolStorageParams are the parameters of tool-storage. Sizes of results are
// bytes, which stand for the client's characters; others are tokens.
type ToolStorageParams struct {
	Switch      `yaml:",inline"`
	Limits      StorageLimits `yaml:"limits" doc:"bytes above which a result goes to disk"`
	Never       []string      `yaml:"never" doc:"tools whose results never go to disk"`
	PerMessage  int32         `yaml:"per_message" doc:"bytes of all results of one message, those of never counted; over it the largest go to disk; 0 for no limit" off:"0"`
	Preview     int32         `yaml:"preview" doc:"bytes of a stored result that stay"`
	Pointer     int32         `yaml:"pointer" doc:"tokens of the text around the preview (path and size); assumed"`
	Freeze      bool          `yaml:"freeze" doc:"what was decided about a result stays; off, all results are decided about anew ahead of each request"`
	Retune      Retune        `yaml:"retune" doc:"limits that are changed from afar in the middle of a session"`
	StoreImages bool          `yaml:"store_images" doc:"results that hold an image go to disk too; assumed"`
	StoreErrors bool          `yaml:"store_errors" doc:"results of failed calls go to disk too; assumed"`
	Reread      Reread        `yaml:"reread" doc:"stored results that the model reads back"`
}

// StorageLimits are the sizes up to which results stay, bytes.
type StorageLimits struct {
	Default int32 `yaml:"default" doc:"bytes for tools without a limit of their own"`
	Bash    int32 `yaml:"bash" doc:"bytes for Bash"`
	Grep    int32 `yaml:"grep" doc:"bytes for Grep"`
	MCP     int32 `yaml:"mcp" doc:"bytes for tools of MCP servers"`
	Cap     int32 `yaml:"cap" doc:"bytes no limit can pass"`
}

// Retune is a change of all limits by the flag that sets them from afar (003,
// GrowthBook override).
type Retune struct {
	Request int32   `yaml:"request" doc:"request of the conversation from which on the changed limits hold, from 1; 0 for never"`
	Scale   float64 `yaml:"scale" doc:"what all limits are multiplied by, above 0"`
}

// Reread says how often a stored result is read back, which no recording of a
// client without storage can show: all of it is assumed.
type Reread struct {
	Share  float64 `yaml:"share" doc:"share of stored results that are read back, 0…1; assumed"`
	After  int32   `yaml:"after" doc:"requests later, from 1; assumed"`
	Output int32   `yaml:"output" doc:"tokens of the response that reads; assumed"`
	Limit  int32   `yaml:"limit" doc:"tokens one read returns at most; assumed"`
}

// Validate returns what is wrong with the parameters.
func (p *ToolStorageParams) Validate() []error {
	errs := negatives(p)
	if least := min(p.Limits.Default, p.Limits.Bash, p.Limits.Grep, p.Limits.MCP, p.Limits.Cap); p.Preview > least {
		errs = append(errs, fmt.Errorf("preview %d is more than the limit %d", p.Preview, least))
	}
	if !(p.Retune.Scale > 0) {
		errs = append(errs, fmt.Errorf("retune: scale %g must be above 0", p.Retune.Scale))
	}
	if !(p.Reread.Share >= 0 && p.Reread.Share <= 1) {
		errs = append(errs, fmt.Errorf("reread: share %g must lie in 0…1", p.Reread.Share))
	}
	if p.Reread.Share > 0 && min(p.Reread.After, p.Reread.Output, p.Reread.Limit) < 1 {
		errs = append(errs, fmt.Errorf("reread: after, output and limit must be positive"))
	}
	return errs
}

func defaultToolStorage() ToolStorageParams {
	return ToolStorageParams{
		Switch: on,
		Limits: StorageLimits{Default: 50000, Bash: 30000, Grep: 20000, MCP: 50000, Cap: 400000},
		Never:  []string{"Read"}, PerMessage: 200000, Preview: 2000, Pointer: 60,
		Freeze: true, Retune: Retune{Scale: 1},
		Reread: Reread{After: 1, Output: 100, Limit: 25000},
	}
}
