package main

import (
	"fmt"
	"strconv"
	"strings"
)

// confidence is the value of a flag that takes a level of confidence as a share or
// in per cent: 0.99, 99%.
type confidence struct{ level *float64 }

// Set reads a level. 99 without its sign is an error that tells of it; bounds are
// those of the comparison.
func (c confidence) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	share := number
	if percent {
		share += "e-2" // rounds once, as a division of 99.9 does not
	}
	v, err := strconv.ParseFloat(share, 64)
	if err != nil {
		return fmt.Errorf("want a share such as 0.99 or per cent such as 99%%, not %q", text)
	}
	if !percent && v >= 50 && v < 100 {
		return fmt.Errorf("level %s: at least 0.5 and below 1 (did you mean %s%%?)", number, number)
	}
	*c.level = v
	return nil
}

// String returns the level as a share.
func (c confidence) String() string {
	if c.level == nil {
		return ""
	}
	return strconv.FormatFloat(*c.level, 'g', -1, 64)
}

// Type names the kind of value in the help.
func (confidence) Type() string { return "level" }
