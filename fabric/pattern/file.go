package pattern

import (
	"fmt"
	"os"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

var fileKind = kind{
	name: "file",
	usage: `file:PATH
Groups from a file, one a line: members separated by blanks or commas, each a
node's name, id or GUID, a port's GUID, or NODE:PORT. A name that holds blanks
or commas is put in double quotes. NAME: or name=NAME before the members names
the group; # starts a comment.`,
	parse: parseFile,
}

// groupFile is a file of groups.
type groupFile struct{ path string }

func parseFile(a *spec.Args) shape {
	path, _ := a.Text("")
	if path == "" {
		a.Failf("", "want the path of a file")
	}
	return groupFile{path}
}

func (g groupFile) generate(f *fabric.Fabric) ([]fabric.Group, error) {
	file, err := os.Open(g.path)
	if err != nil {
		return nil, fmt.Errorf("groups: %w", err)
	}
	defer file.Close()
	return ReadGroups(file, g.path, f)
}
