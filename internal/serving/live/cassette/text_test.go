package cassette

import "testing"

// The sum of a text that is no UTF-8 is that of what the file has: a folder reads
// again what it has stored.
func TestSumOfBrokenText(t *testing.T) {
	c := answered(nth(1))
	c.Reply.Text = "a\xff\xfe\xed\xa0\x80b"
	store(t, t.TempDir(), Options{}, c)
}
