package live

import "strings"

// The texts that stand in a request for what is not sent whole. They are this
// package's own; their sizes are near those of the clients that are simulated.
const (
	clearedText   = "[Old tool result content cleared]"
	emptyResult   = "(no output)"
	missingResult = "[The result of this call is not there.]"
	truncatedText = "[earlier conversation truncated for compaction retry]"
	leadingText   = "[The conversation begins with a response.]"
	pausedText    = "[The conversation stands here.]"
	summaryHeader = "The conversation before this point has been summarised, as it did not fit any more. What follows is the summary.\n\n"
	storedOpening = "<persisted-output>\nThe output was large and is stored in a file. It begins like this:\n"
	storedClosing = "\n</persisted-output>"
	storedPointer = "<persisted-output>\nThe output is stored in a file and can be read again there.\n</persisted-output>"
)

// stored returns what stays of a result that was put to disk, within so many
// bytes: the beginning, or only that it is there.
func stored(text string, size int) string {
	room := size - len(storedOpening) - len(storedClosing)
	if room <= 0 || text == "" {
		return storedPointer
	}
	return storedOpening + cut(text, room) + storedClosing
}

// withMedia returns a text and the placeholder of the image or document that
// stands with it.
func withMedia(text, media string) string {
	if media == "" {
		return text
	}
	if text == "" {
		return "[" + media + "]"
	}
	return text + "\n[" + media + "]"
}

// clean returns a text that any server takes: valid UTF-8.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
