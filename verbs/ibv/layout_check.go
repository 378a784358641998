//go:build linux && (amd64 || arm64)

package ibv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// layoutError is a structure of the library that is not laid out as known here:
// the library is refused, rather than read wrongly.
type layoutError struct{ what string }

func (e *layoutError) Error() string {
	return "this libibverbs is laid out in a way that is not known: " + e.what + " is not where it is in rdma-core 44"
}

// consistent makes an error of what is not as it has to be.
func consistent(ok bool, what string) error {
	if ok {
		return nil
	}
	return &layoutError{what}
}

// name reads a device's name, which is also the last part of a path beside it.
func (d *ibvDevice) name() (string, error) {
	name, ok := cString(d.Name[:])
	dir, ok2 := cString(d.IBDevPath[:])
	return name, consistent(ok && ok2 && name != "" && path.Base(dir) == name, "ibv_device.name")
}

// check looks at an opened device: pointers point to functions, numbers of
// files to open files.
func (c *ibvContext) check(d *ibvDevice, code mappings) error {
	if c.Device != d {
		return &layoutError{"ibv_context.device"}
	}
	for what, fn := range map[string]uintptr{
		"poll_cq": c.Ops.PollCQ, "req_notify_cq": c.Ops.ReqNotifyCQ,
		"post_send": c.Ops.PostSend, "post_recv": c.Ops.PostRecv, "post_srq_recv": c.Ops.PostSRQRecv,
	} {
		if _, ok := code.find(fn); !ok {
			return &layoutError{"ibv_context.ops." + what}
		}
	}
	for what, fd := range map[string]int32{"cmd_fd": c.CmdFD, "async_fd": c.AsyncFD} {
		var stat syscall.Stat_t
		if err := syscall.Fstat(int(fd), &stat); err != nil {
			return &layoutError{"ibv_context." + what}
		}
	}
	if c.ABI == isExtended {
		if size := c.before(beforeSize); size%8 != 0 || size < unsafe.Sizeof(*c) || size > 1<<16 {
			return &layoutError{"verbs_context.sz"}
		}
	}
	return consistent(c.CompVectors > 0 && c.CompVectors < 1<<16, "ibv_context.num_comp_vectors")
}

// mappings are the parts of the address space that hold code.
type mappings []mapping

type mapping struct {
	from, to uintptr
	file     string
}

func readMappings() (mappings, error) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMappings(f)
}

// parseMappings reads proc_pid_maps(5).
func parseMappings(r io.Reader) (code mappings, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.Contains(fields[1], "x") {
			continue
		}
		low, high, _ := strings.Cut(fields[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("/proc/self/maps: %q", lines.Text())
		}
		code = append(code, mapping{uintptr(from), uintptr(to), fields[5]})
	}
	return code, lines.Err()
}

// find gives the file that holds a function.
func (m mappings) find(fn uintptr) (file string, ok bool) {
	for _, x := range m {
		if fn >= x.from && fn < x.to {
			return x.file, true
		}
	}
	return "", false
}

// driverFile is the name of a driver's file. Those of drivers with functions of
// their own to export are links to libraries, which is what is mapped.
var driverFile = regexp.MustCompile(`^lib(\w+)(?:-rdmav\d+\.so|\.so\.\d)`)

// userSpace are the drivers whose post and poll never enter the kernel.
var userSpace = map[string]bool{
	"bnxt_re": true, "cxgb4": true, "efa": true, "erdma": true, "hns": true, "irdma": true, "mana": true,
	"mlx4": true, "mlx5": true, "mthca": true, "ocrdma": true, "qedr": true, "vmw_pvrdma": true,
}

// entersKernel tells whether the functions of a file may enter the kernel. A
// driver that is not known may.
func entersKernel(file string) bool {
	match := driverFile.FindStringSubmatch(filepath.Base(file))
	return match == nil || !userSpace[match[1]]
}
