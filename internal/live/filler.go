package live

import (
	"fmt"
	"strings"
)

// bytesPerToken is what a token of English text takes, for texts that are made
// to a size; a server's own count of them differs by some percent.
const bytesPerToken = 4

// stand returns a text of about so many tokens that stands for what no
// recording shows. It says so, and is the same at every call.
func stand(what string, tokens int32) string {
	var b strings.Builder
	size := max(0, int(tokens)) * bytesPerToken
	fmt.Fprintf(&b, "[This stands for %s, which the recording does not show. It tells nothing.]\n", what)
	for line := 1; b.Len() < size; line++ {
		fmt.Fprintf(&b, "%d. Nothing is known of this line, and nothing follows from it.\n", line)
	}
	return cut(b.String(), max(size, len(what)+70))
}

// cut returns the first n bytes of a text, less where a rune would be parted.
func cut(text string, n int) string {
	if n >= len(text) {
		return text
	}
	n = max(n, 0)
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}
