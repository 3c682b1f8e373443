//! Several processes and several stores over one folder.
