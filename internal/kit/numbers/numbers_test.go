package numbers

import "testing"

// One thing has its own words, and thousands have a comma, whatever the type of the number.
func TestCounted(t *testing.T) {
	if got := Counted(1, "file is", "files are") + ", " + Counted(int64(15_014), "file is", "files are"); got != "1 file is, 15,014 files are" {
		t.Error(got)
	}
}
