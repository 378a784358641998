package cm

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"heddle/ib"
	"heddle/verbs"
)

// devices is where the kernel lists RDMA devices.
const devices = "/sys/class/infiniband"

// deviceOf finds the name of the device that has a node GUID, as listed in a
// directory: of several, as virtual ones may be, the one whose port has the GID.
func deviceOf(sys fs.FS, guid ib.GUID, port uint8, gid ib.GID) (string, error) {
	names, err := fs.Glob(sys, "*/node_guid")
	if err != nil {
		return "", err
	}
	var found []string
	for _, name := range names {
		if text, err := fs.ReadFile(sys, name); err == nil && sameGUID(text, guid) {
			found = append(found, path.Dir(name))
		}
	}
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(name string) bool { return !hasGID(sys, name, port, gid) })
	}
	if len(found) == 0 {
		return "", fmt.Errorf("node GUID %v, port %d, GID %v: %w", guid, port, gid, verbs.ErrNoDevice)
	}
	return found[0], nil
}

func sameGUID(text []byte, guid ib.GUID) bool {
	got, err := ib.ParseGUID(strings.TrimSpace(string(text)))
	return err == nil && got == guid
}

func hasGID(sys fs.FS, device string, port uint8, gid ib.GID) bool {
	entries, err := fs.Glob(sys, fmt.Sprintf("%s/ports/%d/gids/*", device, port))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(entry string) bool {
		text, err := fs.ReadFile(sys, entry) // an empty entry of RoCE cannot be read
		if err != nil {
			return false
		}
		got, err := ib.ParseGID(strings.TrimSpace(string(text)))
		return err == nil && got == gid
	})
}
