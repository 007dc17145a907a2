package devserver

// Tokens are estimated: 0.3 a byte, about what recorded sessions have over all
// kinds of content, and some for every block. The sum over blocks is the
// prompt's, so that every part of a prompt has its share.
const (
	tokensPerTenBytes = 3
	blockTokens       = 3
	imageTokens       = 2000 // of an image or a document, as clients estimate them
)

// tokensOf returns the tokens of n bytes of text.
func tokensOf(n int) int64 { return (int64(n)*tokensPerTenBytes + 9) / 10 }

// bytesOf returns how many bytes of text have the tokens, at most.
func bytesOf(tokens int64) int { return int(tokens * 10 / tokensPerTenBytes) }

// tokens returns the tokens of a block.
func (b *block) tokens() int64 {
	if b.Type == "image" || b.Type == "document" {
		return imageTokens
	}
	n := blockTokens + tokensOf(len(b.Text)+len(b.Name)+len(b.Input)+len(b.Rest))
	for i := range b.Content {
		n += b.Content[i].tokens()
	}
	return n
}

func (t *tool) tokens() int64 { return blockTokens + tokensOf(len(t.Name)+len(t.Rest)) }
