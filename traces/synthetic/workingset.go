package synthetic

import "strconv"

// workingSet draws the files of a profile.
func workingSet(p *Profile, d dice) []file {
	files := make([]file, p.Files)
	for i := range files {
		id := uint64(i)
		noun := nouns[d.below(forFilePick, id, len(nouns))]
		files[i] = file{
			path:   p.Project + "/internal/" + noun + "/" + noun + "_" + strconv.Itoa(i) + ".go",
			tokens: max(1, int(d.from(p.FileSize, forFileSize, id)+0.5)),
		}
		files[i].bytes = max(1, int(float64(files[i].tokens)/(rateResult*spread(d, id^forFileSeed))+0.5))
	}
	return files
}

// forFileSeed keeps the draws of files apart from those of blocks.
const forFileSeed = 1 << 63
