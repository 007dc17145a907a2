package strategies

import (
	"fmt"
	"math"

	"github.com/compactsim/compactsim/sim/prompt"
)

// IndexParams say how much of the index of memory files a prompt holds
// (003:2392-2397: a line under 150 characters; 200 lines or 25 KB, whichever is
// hit first).
type IndexParams struct {
	Lines         int32   `yaml:"lines" doc:"lines of the index that are loaded"`
	Bytes         int32   `yaml:"bytes" doc:"bytes of the index that are loaded"`
	LineBytes     int32   `yaml:"line_bytes" doc:"bytes of a line"`
	TokensPerByte float64 `yaml:"tokens_per_byte" doc:"tokens of a byte of it"`
}

// defaultIndex has the documents' limits; 0.26 tokens a byte is what recorded
// text weighs.
var defaultIndex = IndexParams{Lines: 200, Bytes: 25000, LineBytes: 150, TokensPerByte: 0.26}

// loaded returns how many of n lines a prompt holds.
func (p *IndexParams) loaded(n int32) int32 {
	return min(n, p.Lines, p.Bytes/max(1, p.LineBytes))
}

// tokens returns what an index of n lines weighs in a prompt.
func (p *IndexParams) tokens(n int32) int32 {
	return int32(math.Round(float64(p.loaded(n)) * float64(p.LineBytes) * p.TokensPerByte))
}

// show gives the thread's memory section the index as it is now, unless it has
// had that already, and returns which state it has.
func (p *IndexParams) show(t *Turn, x *MemoryIndex, shown uint32) uint32 {
	if x.Change != shown {
		content := prompt.DigestString("memory index").ExtendInt(uint64(x.Change))
		t.SetSection(SectionMemory, p.tokens(x.Lines), content)
	}
	return x.Change
}

func (p *IndexParams) validate() []error {
	var errs []error
	if p.LineBytes < 1 {
		errs = append(errs, fmt.Errorf("index.line_bytes %d must be positive", p.LineBytes))
	}
	if !(p.TokensPerByte > 0 && p.TokensPerByte <= maxTokensPerByte) {
		errs = append(errs, fmt.Errorf("index.tokens_per_byte %g must lie between 0 and %d", p.TokensPerByte, maxTokensPerByte))
	}
	return errs
}

// maxTokensPerByte is the most a byte can weigh: no tokeniser of the models
// makes more than one token of it.
const maxTokensPerByte = 1
