package texts

// cacheBytes is how much text of lines a reader holds: several times what most
// recorded sessions have in lines with blocks, so that results that come late
// and sub-agents that speak in their parent's file are found without reading the
// file again.
const cacheBytes = 16 << 20

// key names a line.
type key struct {
	file   *file
	number int32
}

// cache holds the text of the lines that were read last.
type cache struct {
	limit int // bytes
	held  int // bytes
	lines map[key][]byte
	order []key // of lines, the oldest first
}

func (c *cache) get(k key) ([]byte, bool) {
	text, ok := c.lines[k]
	return text, ok
}

// put keeps a copy of a line in the place of the oldest. A line that would drive
// out a quarter of all is not kept.
func (c *cache) put(k key, text []byte) {
	if _, ok := c.lines[k]; ok || len(text) > c.limit/4 {
		return
	}
	if c.lines == nil {
		c.lines = map[key][]byte{}
	}
	for c.held+len(text) > c.limit {
		oldest := c.order[0]
		c.order = c.order[1:]
		c.held -= len(c.lines[oldest])
		delete(c.lines, oldest)
	}
	c.lines[k] = append(make([]byte, 0, len(text)), text...)
	c.order = append(c.order, k)
	c.held += len(text)
}
